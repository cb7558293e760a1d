# docker build -t housequest . && docker run -it --rm -v housequest:/data housequest
FROM python:3.12-slim
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src && useradd --create-home player && mkdir /data && chown player /data
USER player
ENV HOUSEQUEST_HOME=/data TERM=xterm-256color COLORTERM=truecolor
WORKDIR /data
ENTRYPOINT ["housequest"]
CMD ["play"]

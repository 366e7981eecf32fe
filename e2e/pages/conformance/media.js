// A picture and a sound, made here.

/** One red pixel. */
export function redPixel() {
  const canvas = new OffscreenCanvas(1, 1);
  const pen = canvas.getContext("2d");
  pen.fillStyle = "red";
  pen.fillRect(0, 0, 1, 1);
  return canvas;
}

/** A WAV file with a few samples of silence. */
export function silence() {
  const samples = 8;
  const rate = 8000;
  const file = new DataView(new ArrayBuffer(44 + samples));
  const text = (at, word) =>
    [...word].forEach((letter, index) => file.setUint8(at + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  file.setUint32(4, 36 + samples, true);
  text(8, "WAVEfmt ");
  file.setUint32(16, 16, true); // size of the format's description
  file.setUint16(20, 1, true); // PCM
  file.setUint16(22, 1, true); // one channel
  file.setUint32(24, rate, true);
  file.setUint32(28, rate, true); // bytes per second
  file.setUint16(32, 1, true); // bytes per sample
  file.setUint16(34, 8, true); // bits per sample
  text(36, "data");
  file.setUint32(40, samples, true);
  for (let sample = 0; sample < samples; sample += 1) file.setUint8(44 + sample, 128);
  return new Blob([file], { type: "audio/wav" });
}

/** Uint8Array.prototype.toBase64, which most runtimes lack. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    text += String.fromCharCode(...bytes.subarray(at, at + pieceBytes))
  }
  return btoa(text)
}

/** Calls take only so many arguments. */
const pieceBytes = 8192

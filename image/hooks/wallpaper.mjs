// Draws the wallpaper, ridges at dusk, as a PNG file: node wallpaper.mjs FILE
// It is drawn rather than kept as a picture, so that its source can be read and changed.
import { writeFileSync } from 'node:fs'
import { deflateSync } from 'node:zlib'

const width = 1920
const height = 1200
const sky = [
  [0, '#14213f'],
  [0.22, '#26407a'],
  [0.42, '#5a74b0'],
  [0.55, '#a99fc4'],
  [0.64, '#efc0a4'],
  [0.72, '#f9dcb4'],
]
const sun = { x: 0.66, y: 0.61, radius: 0.42, color: rgb('#ffe9c4'), strength: 0.55 }
// From far to near: the height of the crest, how far it swings, how rough it is, its color at the
// crest and, where haze gathers, lower down.
const ridges = [
  { crest: 0.6, swing: 0.07, waves: 2.6, seed: 11, top: '#8f8fbd', foot: '#c9b3c6' },
  { crest: 0.66, swing: 0.085, waves: 3.1, seed: 23, top: '#6674a8', foot: '#9d99bf' },
  { crest: 0.73, swing: 0.085, waves: 3.6, seed: 37, top: '#43588f', foot: '#6f7db0' },
  { crest: 0.81, swing: 0.09, waves: 3.2, seed: 53, top: '#2a3d6e', foot: '#475c92' },
  { crest: 0.91, swing: 0.09, waves: 2.7, seed: 71, top: '#17264b', foot: '#22355f' },
]

writeFileSync(process.argv[2], encodePng(paint()))

function paint() {
  const pixels = Buffer.alloc(width * height * 3)
  const layers = ridges.map((ridge) => ({
    ...ridge,
    top: rgb(ridge.top),
    foot: rgb(ridge.foot),
    line: Float64Array.from({ length: width }, (_, x) => height * crestAt(ridge, x / width)),
  }))
  const stops = sky.map(([at, color]) => [at, rgb(color)])
  let noise = 1
  for (let y = 0; y < height; y++) {
    const skyColor = gradient(stops, y / height)
    for (let x = 0; x < width; x++) {
      let color = glow(skyColor, x, y)
      for (const layer of layers) {
        const depth = y - layer.line[x]
        if (depth <= -1) continue
        const body = mix(layer.top, layer.foot, Math.min(1, Math.max(0, depth) / (height * 0.16)))
        color = mix(color, body, Math.min(1, depth + 1))
      }
      const at = (y * width + x) * 3
      // A grain of half a step keeps the soft gradients free of bands.
      noise = (Math.imul(noise, 1664525) + 1013904223) >>> 0
      const grain = noise / 2 ** 32
      for (let c = 0; c < 3; c++) pixels[at + c] = Math.min(255, color[c] + grain)
    }
  }
  return pixels
}

function crestAt({ crest, swing, waves, seed }, x) {
  let offset = 0
  let amplitude = 0.6
  let frequency = waves
  for (let octave = 0; octave < 6; octave++) {
    offset += amplitude * (2 * smoothNoise(x * frequency, seed + octave * 101) - 1)
    amplitude *= 0.44
    frequency *= 2.1
  }
  return crest - swing * offset
}

function smoothNoise(x, seed) {
  const cell = Math.floor(x)
  const t = x - cell
  const ease = t * t * t * (t * (t * 6 - 15) + 10)
  return hash(cell, seed) * (1 - ease) + hash(cell + 1, seed) * ease
}

function hash(n, seed) {
  let h = Math.imul(n + 1, 374761393) ^ Math.imul(seed, 668265263)
  h = Math.imul(h ^ (h >>> 13), 1274126177)
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32
}

function glow(color, x, y) {
  const dx = x / width - sun.x
  const dy = ((y / height - sun.y) * height * 1.5) / width
  const distance = Math.hypot(dx, dy) / sun.radius
  return distance >= 1 ? color : mix(color, sun.color, sun.strength * (1 - distance) ** 2)
}

function gradient(stops, at) {
  const next = stops.findIndex(([position]) => position >= at)
  if (next === -1) return stops.at(-1)[1]
  if (next === 0) return stops[0][1]
  const [from, fromColor] = stops[next - 1]
  const [to, toColor] = stops[next]
  return mix(fromColor, toColor, (at - from) / (to - from))
}

function mix(a, b, t) {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}

function rgb(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
}

function encodePng(pixels) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const rows = Buffer.alloc((width * 3 + 1) * height)
  for (let y = 0; y < height; y++) {
    pixels.copy(rows, y * (width * 3 + 1) + 1, y * width * 3, (y + 1) * width * 3)
  }
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', header),
    // Not compressed: every start of a desktop would pay for it.
    chunk('IDAT', deflateSync(rows, { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}

function crc32(bytes) {
  let crc = -1
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return (crc ^ -1) >>> 0
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockMotion } from './block-motion.ts'

const size = { width: 64, height: 40 }
const all = { x: 0, y: 0, ...size }

/** A screen whose blocks are drawn at times that the test chooses. */
function createScreen() {
  const motion = new BlockMotion(size)
  const frame = { ...size, pixels: new Uint32Array(size.width * size.height) }
  motion.update(frame, all, null)
  return {
    last: (within = all, ignored: (typeof all)[] = [], forMs = 0) =>
      motion.last(within, ignored, forMs),
    draw(x: number, y: number, colour: number, atMs: number | null) {
      frame.pixels[y * size.width + x] = colour
      motion.update(frame, all, atMs)
    },
  }
}

test('what has changed is motion, of its block alone', () => {
  const { draw, last } = createScreen()
  assert.equal(last(), null)
  draw(20, 5, 1, 1000)
  assert.deepEqual(last(), { atMs: 1000, where: { x: 16, y: 0, width: 16, height: 16 } })
  draw(63, 39, 1, 1100)
  assert.deepEqual(last(), { atMs: 1100, where: { x: 48, y: 32, width: 16, height: 8 } })
  assert.equal(last({ x: 0, y: 0, width: 40, height: 30 })?.atMs, 1000)
  assert.equal(last(all, [{ x: 60, y: 39, width: 4, height: 1 }])?.atMs, 1000)
  assert.equal(last({ x: 32, y: 16, width: 1, height: 1 }), null)
})

test('changes of one moment have one place', () => {
  const { draw, last } = createScreen()
  draw(0, 0, 1, 1000)
  draw(40, 20, 1, 1000)
  assert.deepEqual(last(), { atMs: 1000, where: { x: 0, y: 0, width: 48, height: 32 } })
})

test('changes of a span have one place, too', () => {
  const { draw, last } = createScreen()
  draw(63, 39, 1, 500)
  draw(0, 0, 1, 900)
  draw(40, 20, 1, 1000)
  assert.deepEqual(last(all, [], 100)?.where, { x: 0, y: 0, width: 48, height: 32 })
  assert.deepEqual(last(all, [], 99)?.where, { x: 32, y: 16, width: 16, height: 16 })
})

test('what blinks does not move, once it has returned', () => {
  const { draw, last } = createScreen()
  draw(3, 3, 1, 1000)
  assert.equal(last()?.atMs, 1000)
  draw(3, 3, 0, 1530)
  assert.equal(last(), null)
  draw(3, 3, 1, 2060)
  assert.equal(last(), null)
  draw(3, 3, 2, 2100)
  assert.equal(last()?.atMs, 2100)
})

test('what changes at even intervals of half a second and more does not move', () => {
  const { draw, last } = createScreen()
  draw(3, 3, 1, 1000)
  draw(3, 3, 2, 2010)
  assert.equal(last()?.atMs, 2010)
  draw(3, 3, 3, 2995)
  assert.equal(last(), null)
  draw(3, 3, 4, 3300)
  assert.equal(last()?.atMs, 3300)
})

test('what changes often moves, however even', () => {
  const { draw, last } = createScreen()
  for (let frame = 1; frame < 20; frame++) draw(3, 3, frame, frame * 100)
  assert.equal(last()?.atMs, 1900)
})

test('a change of which the time is not known is no motion', () => {
  const { draw, last } = createScreen()
  draw(3, 3, 1, null)
  assert.equal(last(), null)
})

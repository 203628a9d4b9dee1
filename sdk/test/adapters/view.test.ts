import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromDisplay, toDisplay, viewOf } from '../../src/adapters/view.ts'

const limits = { longestEdge: 1568, pixels: 1_150_000 }

test('every view pixel maps into the display and back to itself', () => {
  for (const [width, height] of [
    [3840, 2160],
    [1281, 799],
    [2560, 1440],
    [7680, 320],
  ] as const) {
    const view = viewOf({ width, height }, limits)
    assert.ok(Math.max(view.width, view.height) <= 1568)
    assert.ok(view.width * view.height <= 1_150_000)
    for (let x = 0; x < view.width; x++) {
      const y = x % view.height
      const there = toDisplay(view, { x, y })
      assert.ok(there.x >= 0 && there.x < width && there.y >= 0 && there.y < height)
      assert.deepEqual(fromDisplay(view, there), { x, y })
    }
  }
  const whole = viewOf({ width: 1280, height: 800 }, limits)
  assert.deepEqual(toDisplay(whole, { x: 1279, y: 7 }), { x: 1279, y: 7 })
})

test('points outside the view are refused', () => {
  const view = viewOf({ width: 1280, height: 800 }, limits)
  for (const [x, y] of [
    [-1, 0],
    [0, -0.5],
    [1280, 0],
    [0, 800],
    [99_999, 3],
  ] as const) {
    const expected = { name: 'ModelMistake', message: /outside the screenshot, which is 1280x800/ }
    assert.throws(() => toDisplay(view, { x, y }), expected)
  }
})

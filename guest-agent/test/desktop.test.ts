import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Keymap } from '../src/desktop/keymap.ts'
import { keysymOfCharacter, keysymOfName } from '../src/desktop/keysyms.ts'
import { swapToRgb } from '../src/desktop/pixels.ts'
import type { XSession } from '../src/x11/session.ts'

test('key names: keysyms, aliases in any case, characters, code points', () => {
  const expected: Record<string, number> = {
    Return: 0xff0d,
    ENTER: 0xff0d,
    Ctrl: 0xffe3,
    cmd: 0xffeb,
    option: 0xffe9,
    pagedown: 0xff56,
    F5: 0xffc2,
    f12: 0xffc9,
    a: 0x61,
    A: 0x41,
    exclam: 0x21,
    é: 0xe9,
    漢: 0x01006f22,
    U1F600: 0x0101f600,
    XF86AudioMute: 0x1008ff12,
  }
  for (const [name, keysym] of Object.entries(expected))
    assert.equal(keysymOfName(name), keysym, name)
  for (const name of ['nosuch', 'XK_a', 'U0', 'UD800', 'constructor', '__proto__', 'return2']) {
    assert.throws(() => keysymOfName(name), { code: 'invalid_request' }, name)
  }
  assert.throws(() => keysymOfCharacter('\x01'), { code: 'invalid_request' })
  assert.equal(keysymOfCharacter('\n'), 0xff0d)
})

test('pixels are converted to red, green, blue for every width', () => {
  for (const pixels of [1, 2, 3, 4, 5, 8, 11]) {
    const source = Buffer.alloc(32 + pixels * 4)
    for (let i = 0; i < pixels; i++) source.set([i + 1, i + 101, i + 201, 0xee], 32 + i * 4)
    const target = Buffer.alloc(pixels * 3)
    swapToRgb(source, 32, target)
    const expected = Array.from({ length: pixels }, (_, i) => [i + 201, i + 101, i + 1])
    assert.deepEqual([...target], expected.flat())
  }
})

test('the keymap uses the layout first, then the agent’s range, evicting the least recently used', async () => {
  const { session, writes } = usKeyboard()
  const keymap = new Keymap(session)
  await keymap.refresh()
  assert.deepEqual(keymap.find(0x61), { keycode: 38, shift: false, spare: false })
  assert.deepEqual(keymap.find(0x41), { keycode: 38, shift: true, spare: false })
  assert.equal(keymap.find(0x4e00), undefined)

  const wide = Array.from({ length: 41 }, (_, index) => 0x01004e00 + index)
  assert.equal(keymap.reach(wide, 0), 40)
  assert.equal(keymap.reach([0x61, ...wide.slice(0, 40), 0x41, wide[3]!], 0), 43)
  assert.ok(keymap.assign(wide.slice(0, 40)))
  assert.ok(!keymap.assign(wide.slice(0, 40)), 'all are mapped already')
  const first = keymap.find(wide[0]!)!
  assert.ok(first.spare && !first.shift)

  keymap.assign([wide[40]!])
  assert.deepEqual(keymap.find(wide[0]!), first)
  assert.equal(keymap.find(wide[1]!), undefined, 'the least recently used is evicted')
  assert.equal(writes.length, 2, 'one request per change')
})

/** A server whose layout has only the key A, and which records every change of its map. */
function usKeyboard(): { session: XSession; writes: Buffer[] } {
  const writes: Buffer[] = []
  const map = Buffer.alloc(32 + 248 * 2 * 4)
  map[1] = 2
  map.writeUInt32LE(0x61, 32 + (38 - 8) * 8)
  map.writeUInt32LE(0x41, 32 + (38 - 8) * 8 + 4)
  const x = {
    setup: { minKeycode: 8, maxKeycode: 255 },
    listen: () => () => {},
    sync: async () => {},
    send: (request: Buffer) => writes.push(request),
    ask: async (request: Buffer) => (request[0] === 101 ? map : Buffer.alloc(32 + 8)),
  }
  return { session: { x } as unknown as XSession, writes }
}

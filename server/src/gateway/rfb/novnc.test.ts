import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GuestInputEvent } from '@computer/contract/guest-streams'
import { loadNovnc, Novnc } from '../../../test/novnc.ts'
import { formatOfNovnc } from '../../../test/rfb-format.ts'
import { messages, rfb } from '../../../test/rfb-messages.ts'
import { difference, paintPictures, paintTile, pictures } from '../../../test/rfb-pictures.ts'
import { RfbSession } from './session.ts'

/* An unmodified noVNC 1.7 at the other end. */

const Rfb = await loadNovnc()
const geometry = { width: 64, height: 160 }

test('what noVNC says at the start, in order', async () => {
  const { said, talk } = view()
  await talk()
  const [version, security, shared, format, encodings, wholeScreen, caps] = said
  assert.equal(version?.toString(), 'RFB 003.008\n')
  assert.deepEqual([security, shared], [Buffer.of(1), Buffer.of(1)])
  assert.deepEqual(format, messages.setFormat(formatOfNovnc))
  const listed = Array.from({ length: encodings!.readUInt16BE(2) }, (_, index) =>
    encodings!.readInt32BE(4 + index * 4),
  )
  const missing = Object.values(rfb).filter((number) => !listed.includes(number))
  assert.deepEqual(missing, [rfb.cursorWithAlpha])
  assert.deepEqual(wholeScreen, messages.requestUpdate(false, { x: 0, y: 0, ...geometry }))
  assert.equal(caps?.[0], 6, 'and what it takes of the clipboard, to the caps that it was sent')
})

test('noVNC draws every kind of tile', async () => {
  const painted = await paintPictures({ x: 0, y: 0, width: 64, height: 32 })
  const { novnc, viewer, talk } = view()
  await talk()
  assert.equal(novnc.rfb._fbName, 'Büro – 🖥')
  await viewer.sendUpdate(painted.map(({ tile }) => tile))
  await talk()
  assert.ok(viewer.wantsUpdate, 'and asks for more')
  for (const [index, { rgb }] of painted.entries()) {
    const shown = novnc.rgb.subarray(index * rgb.length, (index + 1) * rgb.length)
    assert.ok(difference(shown, rgb) <= (index === 4 ? 24 : 0), `picture ${index}`)
  }
})

test('noVNC draws the tiles of a new size', async () => {
  const area = { x: 200, y: 0, width: 100, height: 50 }
  const { tile, rgb } = await paintTile(area, pictures.palette)
  const { novnc, viewer, talk } = view()
  await talk()
  viewer.setGeometry({ width: 300, height: 50 })
  await viewer.sendUpdate([tile])
  await talk()
  assert.deepEqual([novnc.width, novnc.height], [300, 50])
  const row = 49 * 300 * 3 + 200 * 3
  assert.deepEqual(novnc.rgb.subarray(row, row + 300), rgb.subarray(49 * 300))
})

test('noVNC shows the cursor with its colours, half-transparent where it is', async () => {
  const pixels = Buffer.from([200, 100, 50, 255, 1, 2, 3, 128])
  const { novnc, viewer, talk } = view()
  await talk()
  const place = { width: 2, height: 1, x: 1, y: 0 }
  viewer.setCursor({ type: 'cursor', ...place, pixels: pixels.toString('base64') })
  await viewer.sendUpdate([])
  await talk()
  const { rgbaPixels, hotx, hoty, w, h } = novnc.rfb._cursorImage
  assert.deepEqual(Buffer.from(rgbaPixels), pixels)
  assert.deepEqual({ x: hotx, y: hoty, width: w, height: h }, place)
})

test('text goes to noVNC and comes from it', async () => {
  const text = 'Grüße – 漢字 – 👩‍💻\nsecond'
  const { novnc, viewer, inputs, talk } = view()
  await talk()
  viewer.sendCopiedText(text)
  await talk()
  assert.deepEqual(novnc.copied, [text])
  novnc.rfb.clipboardPasteFrom(text)
  await talk()
  assert.deepEqual(inputs, [{ type: 'clipboard', text }])
})

test('noVNC types, points and asks for the size of its window', async () => {
  const { novnc, viewer, inputs, talk } = view()
  await talk()
  novnc.rfb.sendKey(0x20ac, 'KeyE', true)
  novnc.rfb._sendMouse(10, 20, 4)
  await talk()
  assert.deepEqual(inputs.splice(0), [
    { type: 'key', keysym: 0x20ac, down: true },
    { type: 'pointer', x: 10, y: 20, buttons: 4 },
  ])

  novnc.rfb._screenSize = () => ({ w: 1000.5, h: 700 })
  novnc.rfb.resizeSession = true
  await talk()
  assert.deepEqual(inputs, [{ type: 'resize', width: 1000, height: 700 }])
  assert.equal(novnc.width, geometry.width)
  viewer.setGeometry({ width: 1000, height: 700 })
  await viewer.sendUpdate([])
  await talk()
  assert.deepEqual([novnc.width, novnc.height], [1000, 700])
  assert.equal(inputs.length, 1, 'it has what it asked for')
})

/** A noVNC that is shown a machine, and each message that it sent. */
function view() {
  const said: Buffer[] = []
  const inputs: GuestInputEvent[] = []
  const toNovnc: Buffer[] = []
  const toViewer: Buffer[] = []
  const novnc = new Novnc(Rfb, (bytes) => toViewer.push(bytes))
  const viewer = new RfbSession({
    name: 'Büro – 🖥',
    geometry,
    send: (bytes) => toNovnc.push(bytes),
    on: { input: (event) => inputs.push(event) > 0, refresh: () => {}, wanted: () => {} },
  })
  /** Until neither has anything more to say. */
  const talk = async () => {
    for (;;) {
      for (const bytes of toNovnc.splice(0)) novnc.receive(bytes)
      const bytes = toViewer.shift()
      if (!bytes) break
      said.push(bytes)
      viewer.receive(bytes)
    }
    await novnc.drawn()
  }
  return { novnc, viewer, said, inputs, talk }
}

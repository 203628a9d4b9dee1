import type { Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import sharp from 'sharp'
import { eventually } from '../harness/polling.ts'
import type { Picture } from './scripted-model.ts'

/*
 * A form that fills the screen of a machine, with every field at a known place. The machine itself serves
 * it, and keeps what is sent.
 */

/** In pixels of the display. Larger than what models are shown, so that coordinates are scaled. */
export const display = { width: 1600, height: 1000 } as const

/** Left, top, width and height, in pixels of the display. */
export const places = {
  name: [200, 100, 600, 60],
  city: [200, 200, 600, 60],
  agreement: [200, 300, 60, 60],
  send: [200, 400, 600, 60],
} as const
export type Place = keyof typeof places

const style = (place: Place) => {
  const [left, top, width, height] = places[place]
  const box = { left, top, width, height }
  return Object.entries(box)
    .map(([name, value]) => `${name}:${value}px`)
    .join(';')
}
const page = `<!doctype html><meta charset="utf-8"><title>Form</title>
<style>body { margin: 0; background: #fff } form * { position: fixed; box-sizing: border-box; margin: 0;
  padding: 0 10px; border: 4px solid #888; background: #fff; color: #000; font: 30px sans-serif }</style>
<form method="post" accept-charset="utf-8">
<input name="name" style="${style('name')}">
<input name="city" style="${style('city')}">
<input name="agreement" type="checkbox" style="${style('agreement')}">
<button style="${style('send')};background:#0c0">Send</button>
</form>`
const thanks = '<!doctype html><title>Thanks</title><body style="background:#0c0">'

const site = `
import http.server
class Site(http.server.BaseHTTPRequestHandler):
    def answer(self, page):
        self.send_response(200)
        self.send_header('content-type', 'text/html')
        self.end_headers()
        self.wfile.write(page.encode())
    def do_GET(self):
        self.answer('''${page}''')
    def do_POST(self):
        open('/tmp/sent', 'ab').write(self.rfile.read(int(self.headers['content-length'])) + b'\\n')
        self.answer('''${thanks}''')
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`

export async function showForm(machine: Machine): Promise<void> {
  await machine.display.resize(display.width, display.height)
  await machine.input.close()
  await machine.files.write('site.py', site)
  await machine.processes.start(['python3', 'site.py'])
  await eventually('the site answers', async () => {
    const { exitCode } = await machine.exec(['curl', '-sf', 'http://127.0.0.1:8000/'])
    return exitCode === 0
  })
  const url = 'http://127.0.0.1:8000/'
  await machine.processes.start(['chromium', '--no-first-run', '--kiosk', url])
  await eventually('the form is on the screen', async () => {
    const picture = sharp((await machine.screenshot()).bytes)
    const { data, info } = await picture.removeAlpha().raw().toBuffer({ resolveWithObject: true })
    return shareIn({ data, ...info }, 'send', isGreen) > 0.7
  })
}

/** The forms that were sent, oldest first. */
export async function sentForms(machine: Machine): Promise<Record<string, string>[]> {
  const text = await machine.files.readText('/tmp/sent')
  return text
    .trim()
    .split('\n')
    .map((line) => Object.fromEntries(new URLSearchParams(line)))
}

/** The middle of a place, in pixels of a picture of the whole display. */
export function middleOf(picture: Pick<Picture, 'width' | 'height'>, place: Place) {
  const [left, top, width, height] = places[place]
  return {
    x: Math.round(((left + width / 2) * picture.width) / display.width),
    y: Math.round(((top + height / 2) * picture.height) / display.height),
  }
}

type Pixel = readonly [red: number, green: number, blue: number]
export const isDark = ([red, green, blue]: Pixel) => red + green + blue < 300
export const isGreen = ([red, green, blue]: Pixel) => red < 60 && green > 150 && blue < 60

/** The share of the pixels inside a place's border for which something is true. */
export function shareIn(picture: Picture, place: Place, is: (pixel: Pixel) => boolean): number {
  const [left, top, width, height] = places[place]
  const margin = 8
  const scale = picture.width / display.width
  assert.ok(Math.abs(picture.height / display.height - scale) < 0.01, 'it is not the whole display')
  let [all, found] = [0, 0]
  for (let y = (top + margin) * scale; y < (top + height - margin) * scale; y++) {
    for (let x = (left + margin) * scale; x < (left + width - margin) * scale; x++) {
      const start = (Math.floor(y) * picture.width + Math.floor(x)) * 3
      const [red, green, blue] = picture.data.subarray(start, start + 3)
      all++
      if (is([red!, green!, blue!])) found++
    }
  }
  return found / all
}

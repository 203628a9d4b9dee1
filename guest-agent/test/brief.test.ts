import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { GuestBrief } from '@computer/contract/guest-brief'
import { FileSearch } from '../src/brief/changed-files.ts'
import { cutText } from '../src/brief/text.ts'
import { Clipboard } from '../src/desktop/clipboard.ts'
import { openSession, type XSession } from '../src/x11/session.ts'
import { startDesktopAgent, type DesktopAgent } from './desktop-agent.ts'
import { startDisplay, type TestDisplay } from './x-display.ts'
import { openWindows } from './x-windows.ts'

let display: TestDisplay
let program: XSession
let agent: DesktopAgent

before(async () => {
  display = await startDisplay()
  program = await openSession(display.xSocketPath)
  agent = await startDesktopAgent({ ...display, agentUser: 'nobody' })
})
after(async () => {
  agent?.[Symbol.dispose]()
  program?.x[Symbol.dispose]()
  await display?.[Symbol.asyncDispose]()
})

async function readBrief(from = agent): Promise<GuestBrief> {
  const { status, json } = await from.get('/brief')
  assert.equal(status, 200)
  return GuestBrief.parse(json)
}

test('windows have their titles and programs, with and without a window manager', async () => {
  const windows = openWindows(program)
  const shown = await windows.open({ title: 'Not managed', program: 'Dialog' })
  const one = { id: shown, title: 'Not managed', program: 'Dialog' }
  assert.deepEqual((await readBrief()).windows, [one])
  await windows.close(shown)
  assert.deepEqual((await readBrief()).windows, [])

  const mail = await windows.openListed({ title: 'Größe – 漢字 😀', program: 'Mail' })
  const old = await windows.openListed({ plainTitle: Buffer.from('Caf\xe9', 'latin1') })
  const nameless = await windows.openListed()
  const expected = [
    { id: mail, title: 'Größe – 漢字 😀', program: 'Mail' },
    { id: old, title: 'Café', program: '' },
    { id: nameless, title: '', program: '' },
  ]
  assert.deepEqual((await readBrief()).windows, expected)
  for (const id of [mail, old, nameless]) await windows.close(id)
})

test('what programs call their windows is cut, and of many windows the newest are told', async () => {
  const windows = openWindows(program)
  const ids = [await windows.openListed({ title: '😀'.repeat(4000), program: 'p'.repeat(4000) })]
  const [long] = (await readBrief()).windows
  assert.deepEqual([long?.title, long?.program], ['😀'.repeat(128), 'p'.repeat(128)])
  for (let count = 0; count < 203; count++)
    ids.push(await windows.openListed({ title: `${count}` }))
  const titles = (await readBrief()).windows.map(({ title }) => title)
  assert.deepEqual([titles.length, titles[0], titles.at(-1)], [200, '3', '202'])
  for (const id of ids) await windows.close(id)
})

test('text that is cut stays well-formed, and has no NUL', () => {
  assert.equal(cutText('a😀b', 2), 'a')
  assert.equal(cutText('a😀b', 3), 'a😀')
  assert.equal(cutText('a\0b\ud800', 9), 'ab\ufffd')
})

test('the mark of the clipboard changes with each text that is copied, and with nothing else', async () => {
  const clipboard = new Clipboard(program)
  const first = (await readBrief()).clipboard_mark
  assert.equal((await readBrief()).clipboard_mark, first)
  await clipboard.write('primary', 'selected')
  assert.equal((await readBrief()).clipboard_mark, first)
  const marks = [first]
  for (const text of ['copied', 'copied again', 'copied again']) {
    await clipboard.write('clipboard', text)
    marks.push((await readBrief()).clipboard_mark)
  }
  assert.equal(new Set(marks).size, marks.length)
})

test('without a desktop there are no windows', async () => {
  using bare = await startDesktopAgent({ xSocketPath: '/nonexistent/X0' })
  const { windows, clipboard_mark: mark, files } = await readBrief(bare)
  assert.deepEqual([windows, mark, files], [[], '', []])
})

const sinceMs = 1_000_000_000_000
/** A busy host may take longer than a machine's search may. */
const patient = { timeMs: 60_000 }

/** A home whose files were all written at `sinceMs`, or at their own time. */
function makeHome(t: TestContext, files: Readonly<Record<string, number>>): string {
  const home = mkdtempSync(join(tmpdir(), 'computer-brief-'))
  t.after(() => rmSync(home, { recursive: true }))
  for (const [path, atMs] of Object.entries(files)) write(join(home, path), atMs)
  return home
}

function write(path: string, atMs = Date.now()): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, path.endsWith('.lock') ? '' : 'text')
  utimesSync(path, atMs / 1000, atMs / 1000)
}

test('the files that changed are told, the newest first, without what programs write by themselves', async (t) => {
  const laterMs = Date.now() + 3_600_000
  const noise = [
    '.cache/thumbnails/one.png',
    '.config/chromium/Default/History',
    '.config/google-chrome-beta/Default/Cookies',
    '.mozilla/firefox/one.default/places.sqlite',
    '.local/share/recently-used.xbel',
    '.local/state/wireplumber/stream-properties',
    '.dbus/session-bus/one',
    '.Xauthority',
    '.xsession-errors',
    'project/node_modules/one/index.js',
    'project/.git/index',
    'project/data.db-journal',
    'project/.~lock.one.odt#',
    'project/one.lock',
    'project/.notes.swp',
  ]
  const kept = ['Downloads/report.pdf', '.config/app/settings.ini', 'project/main.ts', 'notes.txt']
  const files = [...noise, ...kept].map((path, index) => [path, laterMs - index * 1000])
  const home = makeHome(t, Object.fromEntries(files))
  writeFileSync(join(home, 'package.lock'), 'kept by a package manager')
  const found = await new FileSearch(patient).find(home, laterMs - 1_800_000)
  const paths = kept.map((path) => ({ path: join(home, path), size: 4 }))
  assert.deepEqual(found, { files: paths, has_more_files: false })

  // A file that was moved here has a new ctime alone.
  const startMs = Date.now() - 1000
  write(join(home, 'moved'), sinceMs)
  const recent = await new FileSearch(patient).find(home, startMs)
  assert.ok(recent.files.some(({ path }) => path === join(home, 'moved')))
  const later = await new FileSearch(patient).find(home, laterMs + 1)
  assert.deepEqual(later, { files: [], has_more_files: false })
})

test('of many files the newest 200 are told', async (t) => {
  const laterMs = Date.now() + 3_600_000
  const files = Array.from({ length: 900 }, (_, index) => [`file-${index}`, laterMs + index * 1000])
  const home = makeHome(t, Object.fromEntries(files))
  const found = await new FileSearch(patient).find(home, sinceMs)
  const paths = Array.from({ length: 200 }, (_, index) => join(home, `file-${899 - index}`))
  assert.deepEqual(
    found.files.map(({ path }) => path),
    paths,
  )
  assert.equal(found.has_more_files, true)
})

test('hostile trees: symlinks, pipes, names that are no UTF-8, and folders without end', async (t) => {
  const home = makeHome(t, { 'near.txt': Date.now() })
  symlinkSync('/etc', join(home, 'etc'))
  symlinkSync('/etc/passwd', join(home, 'passwd'))
  symlinkSync('.', join(home, 'loop'))
  execFileSync('mkfifo', [join(home, 'pipe')])
  writeFileSync(Buffer.concat([Buffer.from(`${home}/bad-`), Buffer.of(0xff)]), '')
  let folder = home
  for (let depth = 0; depth < 60; depth++) folder = join(folder, 'deep')
  write(join(folder, 'far.txt'))
  const { files, has_more_files: hasMore } = await new FileSearch(patient).find(home, sinceMs)
  const names = files.map(({ path }) => path.slice(home.length + 1)).toSorted()
  assert.deepEqual([names, hasMore], [['bad-\ufffd', 'near.txt'], true])
  // What the contract takes.
  const brief = { now_ms: 1, windows: [], clipboard_mark: '', files, has_more_files: hasMore }
  assert.deepEqual(GuestBrief.parse(brief), brief)

  assert.deepEqual(await new FileSearch(patient).find(`${home}/absent`, sinceMs), {
    files: [],
    has_more_files: false,
  })
})

test('a search ends at its limits, and tells what is near', async (t) => {
  const files = Array.from({ length: 300 }, (_, index) => [`many/folder-${index}/file`, Date.now()])
  const home = makeHome(t, { ...Object.fromEntries(files), 'near.txt': Date.now() + 3_600_000 })
  const whole = await new FileSearch(patient).find(home, Date.now() + 1_800_000)
  assert.deepEqual(whole, {
    files: [{ path: join(home, 'near.txt'), size: 4 }],
    has_more_files: false,
  })
  for (const limits of [{ entries: 100 }, { pathBytes: 1000 }, { depth: 1 }]) {
    const { files: found, has_more_files: hasMore } = await new FileSearch({
      ...patient,
      ...limits,
    }).find(home, sinceMs)
    assert.equal(found[0]?.path, join(home, 'near.txt'), JSON.stringify(limits))
    assert.equal(hasMore, true, JSON.stringify(limits))
  }
  const none = await new FileSearch({ timeMs: 0 }).find(home, sinceMs)
  assert.equal(none.has_more_files, true)
})

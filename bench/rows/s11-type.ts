import { withDesktop, type BenchDesktop } from '../desktop.ts'
import { eventually } from '../../e2e/harness/polling.ts'
import { polling } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext, type Row } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** 1,000 characters: letters with and without accents, other scripts, emoji, signs, line breaks. */
const text = makeText(1000)
const settleMs = 20_000
const pagePort = 8321

/**
 * Types a text into three programs that read input in different ways. Only the typing is timed. The
 * program must then have exactly the text.
 */
export const bench: Bench = {
  name: 's11-type',
  title: 'type 1,000 characters with Unicode',
  run: (context) =>
    withDesktop(context, 's11', async (desktop) => {
      const rows: Row[] = []
      for (const [name, open] of Object.entries(programs)) {
        context.say(`opening ${name}`)
        rows.push(await measure(context, desktop, name, await open(context, desktop)))
      }
      return rows
    }),
}

/** A program whose text field has the focus. */
type Field = {
  empty(): Promise<void>
  /** The current content, which may still be incomplete. */
  read(): Promise<string>
}

async function measure(
  { api, plan, say }: BenchContext,
  desktop: BenchDesktop,
  name: string,
  field: Field,
): Promise<Row> {
  let exact = 0
  let typed = 0
  const check = async (): Promise<string | undefined> => {
    let got = ''
    const arrived = async () => (got = await field.read()) === text
    const isExact = await eventually('the text arrives', arrived, { withinMs: settleMs }).then(
      () => true,
      () => false,
    )
    return isExact ? undefined : describeDifference(got)
  }
  const baseline = async (): Promise<Sample> => {
    await field.empty()
    return { ms: await desktop.runInside('xdotool', 'type', '--', text), wrong: await check() }
  }
  const ours = async (): Promise<Sample> => {
    await field.empty()
    const { ms } = await time(() =>
      api.ok('POST', `/v1/machines/${desktop.id}/keyboard/type`, { text }),
    )
    const wrong = await check()
    typed += 1000
    if (wrong === undefined) exact += 1000
    return { ms, wrong }
  }
  const target = { ratio: 0.15 }
  const sixMinutes = { ...plan.slow, budgetMs: Math.min(plan.slow.budgetMs, 6 * 60_000) }
  const rounds = await runRounds({ baseline, ours }, sixMinutes, (progress) =>
    say(`${name}, ${progress}`),
  )
  const row = {
    id: 'S11',
    ours: `type into ${name}`,
    baseline: 'xdotool type',
    target,
    note: `${exact} of ${typed} characters typed into ${name} were in exact texts`,
  }
  return compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)
}

const programs = { 'a terminal': openTerminal, 'a GTK entry': openEditor, Chromium: openBrowser }

/** `cat` reads until the end of file, and only then is its output renamed to the file's name. */
async function openTerminal(context: BenchContext, desktop: BenchDesktop): Promise<Field> {
  const file = '/tmp/bench-terminal'
  const loop = `while :; do cat >${file}.new; mv ${file}.new ${file}; done`
  await launch(desktop, 'xfce4-terminal', '-x', 'sh', '-c', loop)
  await focus(desktop, 'xfce4-terminal')
  return {
    async empty() {
      await pressHotkey(context, desktop, 'ctrl', 'd')
      const exists = async () => (await readFile(context, desktop, file)) !== null
      await eventually(`${file} exists`, exists, polling)
      await desktop.runInside('rm', file)
    },
    async read() {
      const got = await readFile(context, desktop, file)
      if (got === null) await pressHotkey(context, desktop, 'ctrl', 'd')
      return got ?? ''
    },
  }
}

/** Reads the editor's file after saving it. */
async function openEditor(context: BenchContext, desktop: BenchDesktop): Promise<Field> {
  const file = '/tmp/bench-editor'
  await desktop.runInside('touch', file)
  await launch(desktop, 'mousepad', file)
  await focus(desktop, 'mousepad')
  const save = async () => {
    await pressHotkey(context, desktop, 'ctrl', 's')
    return (await readFile(context, desktop, file)) ?? ''
  }
  return {
    async empty() {
      await pressHotkey(context, desktop, 'ctrl', 'a')
      await pressHotkey(context, desktop, 'Delete')
      await eventually('the editor is empty', async () => (await save()).trim() === '', polling)
    },
    // The editor appends a line break to the file even if there is one.
    read: async () => (await save()).replace(/\n\n$/, '\n'),
  }
}

/** A page that reports the content of its text field to the probe. */
async function openBrowser(context: BenchContext, desktop: BenchDesktop): Promise<Field> {
  await desktop.ask({ do: 'serve', port: pagePort })
  await launch(desktop, 'chromium', `http://127.0.0.1:${pagePort}/`)
  await focus(desktop, 'chromium')
  const read = async () => (await desktop.ask<{ text: string | null }>({ do: 'page' })).text
  const waitUntilEmpty = () =>
    eventually('the field is empty', async () => (await read()) === '', polling)
  await waitUntilEmpty()
  return {
    async empty() {
      await desktop.ask({ do: 'forget' })
      await pressHotkey(context, desktop, 'F5')
      await waitUntilEmpty()
    },
    read: async () => (await read()) ?? '',
  }
}

async function launch(desktop: BenchDesktop, ...command: readonly string[]): Promise<void> {
  await desktop.runInside('sh', '-c', 'setsid "$@" >/dev/null 2>&1 &', 'sh', ...command)
}

async function focus(desktop: BenchDesktop, windowClass: string): Promise<void> {
  const activate = ['search', '--onlyvisible', '--class', windowClass, 'windowactivate', '--sync']
  const isActive = `xprop -id $(xdotool getactivewindow) WM_CLASS | grep -qi ${windowClass}`
  // xdotool fails if a window closes while it searches, which happens while a program starts.
  const hasFocus = () =>
    desktop
      .runInside('timeout', '10', 'xdotool', ...activate)
      .then(() => desktop.runInside('sh', '-c', isActive))
      .then(
        () => true,
        () => false,
      )
  await eventually(`${windowClass} has the focus`, hasFocus, polling)
}

async function pressHotkey(
  { api }: BenchContext,
  { id }: BenchDesktop,
  ...keys: readonly string[]
): Promise<void> {
  await api.ok('POST', `/v1/machines/${id}/keyboard/hotkey`, { keys })
}

async function readFile(
  { api }: BenchContext,
  { id }: BenchDesktop,
  path: string,
): Promise<string | null> {
  const answer = await api.call('GET', `/v1/machines/${id}/files/content?path=${path}`)
  if (answer.status === 404) return null
  return answer.body.content
}

function describeDifference(got: string): string {
  const [wanted, seen] = [[...text], [...got]]
  const at = wanted.findIndex((character, index) => character !== seen[index])
  const part = (characters: readonly string[]) =>
    JSON.stringify(characters.slice(at, at + 8).join(''))
  return `${seen.length} characters, from ${at} on ${part(seen)} instead of ${part(wanted)}`
}

/** The last character is a line break, because a terminal passes on complete lines. */
function makeText(length: number): string {
  const words = [
    'The quick brown fox jumps over 13 lazy dogs; ',
    'ça déjà vu, naïve Größe, ¿qué? ',
    'Ελληνικά и кириллица, ',
    '漢字とかな 한글 ',
    '🙂🚀 ±½€→∞ ',
    'if (a[i] != "b") { c = ~d & 0xff | e ^ $F % 2; } ',
  ]
  let made = ''
  for (let index = 0; [...made].length < length; index++) {
    made += words[index % words.length]
    if (index % 3 === 2) made = `${made.trimEnd()}.\n`
  }
  return `${[...made].slice(0, length - 2).join('')}.\n`
}

import { formatBytes, widthOf } from './text.ts'

/** Progress goes to standard error, and only if that is a terminal. */
function showsProgress(): boolean {
  return process.stderr.isTTY && process.env['TERM'] !== 'dumb'
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100

/** Shows a spinner while the work runs. */
export async function spin<T>(text: string, work: () => Promise<T>): Promise<T> {
  if (!showsProgress()) return work()
  let frame = 0
  const timer = setInterval(() => draw(`${frames[frame++ % frames.length]} ${text}`), frameMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    draw('')
  }
}

/** Counts bytes. A negative count takes back bytes that will be sent again. */
export type Bar = { add(bytes: number): void }

/** Shows the progress of a transfer; without a total, only the count. */
export function openBar(label: string, total: number | null): Bar & Disposable {
  const startedAt = Date.now()
  let done = 0
  const show = () => draw(formatBar(label, { done, total, elapsedMs: Date.now() - startedAt }))
  const timer = showsProgress() ? setInterval(show, frameMs) : undefined
  return {
    add: (bytes) => (done += bytes),
    [Symbol.dispose]() {
      if (timer === undefined) return
      clearInterval(timer)
      show()
      process.stderr.write('\n')
    },
  }
}

const barWidth = 24

export function formatBar(
  label: string,
  { done, total, elapsedMs }: { done: number; total: number | null; elapsedMs: number },
): string {
  const rate = elapsedMs > 0 ? `${formatBytes((done / elapsedMs) * 1000)}/s` : ''
  if (total === null) return `${label}  ${formatBytes(done)}  ${rate}`
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const filled = Math.round(part * barWidth)
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
  const percent = `${Math.floor(part * 100)}%`.padStart(4)
  return `${label}  ${bar} ${percent}  ${formatBytes(done)} of ${formatBytes(total)}  ${rate}`
}

function draw(line: string): void {
  const columns = process.stderr.columns || 80
  let shown = line
  while (widthOf(shown) >= columns) shown = shown.slice(0, -1)
  process.stderr.write(`\r\x1b[2K${shown}`)
}

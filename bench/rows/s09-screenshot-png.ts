import { checkFrame, countChanged } from '../canvas.ts'
import { installScrot, withDesktop, type BenchDesktop } from '../desktop.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

const inside = '/tmp/bench.png'

/** A PNG of a screen that changed and of one that did not, each compared with scrot inside. */
export const bench: Bench = {
  name: 's09-screenshot-png',
  title: 'screenshot PNG, changed and unchanged',
  run: (context) =>
    withDesktop(context, 's09', async (desktop) => {
      const { plan, say } = context
      say('installing scrot in the machine')
      await installScrot(desktop.runAsRoot)
      let frame = 0
      const change = async () => void (await desktop.ask({ do: 'show', frame: ++frame }))

      const scrot = async (): Promise<Sample> => {
        await change()
        return { ms: await desktop.runInside('scrot', '--overwrite', inside) }
      }
      const changed = async (): Promise<Sample> => {
        await change()
        return takeScreenshot(context, desktop, frame)
      }
      // The first screenshot makes sure that the last one was of the same frame.
      const unchanged = async (): Promise<Sample> => {
        await takeScreenshot(context, desktop, frame)
        return takeScreenshot(context, desktop, frame)
      }
      await change()
      const rounds = await runRounds({ scrot, changed, unchanged }, plan.fast, say)
      const ofUnchanged = { ratio: 0.1 }
      const ofChanged = { ratio: 0.5 }
      const row = { id: 'S9', baseline: 'scrot PNG inside' }
      return [
        compareSides(
          rounds,
          { baseline: 'scrot', ours: 'unchanged' },
          { ...row, ours: 'PNG, unchanged', target: ofUnchanged },
        ),
        compareSides(
          rounds,
          { baseline: 'scrot', ours: 'changed' },
          {
            ...row,
            ours: 'PNG, changed',
            target: ofChanged,
            note: await compareWhole(context, desktop),
          },
        ),
      ]
    }),
}

async function takeScreenshot(
  { api }: BenchContext,
  { id }: BenchDesktop,
  frame: number,
): Promise<Sample> {
  const { ms, result } = await time(() => fetchPng(api, id))
  if (result.status !== 200) return { ms, wrong: `status ${result.status}` }
  return { ms, wrong: await checkFrame(result.bytes, frame, 0) }
}

function fetchPng(api: BenchContext['api'], id: string) {
  const path = `/v1/machines/${id}/screenshot?format=png`
  return api.call('GET', path, undefined, { accept: 'image/png' })
}

/** Compares the whole picture with scrot's of the same screen. */
async function compareWhole({ api }: BenchContext, desktop: BenchDesktop): Promise<string> {
  await desktop.runInside('scrot', '--overwrite', inside)
  const ours = await fetchPng(api, desktop.id)
  const path = `/v1/machines/${desktop.id}/files/content?path=${inside}`
  const headers = { accept: 'application/octet-stream' }
  const theirs = await api.call('GET', path, undefined, headers)
  const changed = await countChanged(ours.bytes, theirs.bytes)
  return `of 1,024,000 pixels ${changed} differ from scrot's picture of the same moment`
}

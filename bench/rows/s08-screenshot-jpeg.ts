import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkFrame } from '../canvas.ts'
import { installScrot, withDesktop } from '../desktop.ts'
import { compareSides, type Bench } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

const inside = '/tmp/bench.jpg'
/** The largest error of JPEG at this quality in the middle of a flat block. */
const tolerance = 16

/** A JPEG of a screen that differs each time. */
export const bench: Bench = {
  name: 's08-screenshot-jpeg',
  title: 'screenshot JPEG, changing screen',
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'computer-bench-'))
    try {
      return await withDesktop(context, 's08', async (desktop) => {
        const { api, incus, plan, say } = context
        const { project, name } = desktop.instance
        say('installing scrot in the machine')
        await installScrot(desktop.runAsRoot)
        let frame = 0
        const change = async () => void (await desktop.ask({ do: 'show', frame: ++frame }))
        const scrot = ['scrot', '--overwrite', '--quality', '80', inside]

        const sides = {
          outside: async () => {
            await change()
            const { ms, result } = await time(async () => {
              const env = ['--env', 'DISPLAY=:0']
              await incus.run('exec', '--project', project, ...env, name, '--', ...scrot)
              const path = join(folder, 'shot.jpg')
              await incus.run('file', 'pull', '--project', project, `${name}${inside}`, path)
              return readFile(path)
            })
            await desktop.runAsRoot('rm', '-f', inside)
            return { ms, wrong: await checkFrame(result, frame, tolerance) }
          },
          inside: async () => {
            await change()
            const ms = await desktop.runInside(...scrot)
            await desktop.runAsRoot('rm', '-f', inside)
            return { ms }
          },
          ours: async () => {
            await change()
            const path = `/v1/machines/${desktop.id}/screenshot?format=jpeg&quality=80`
            const headers = { accept: 'image/jpeg' }
            const { ms, result } = await time(() => api.call('GET', path, undefined, headers))
            if (result.status !== 200) return { ms, wrong: `status ${result.status}` }
            return { ms, wrong: await checkFrame(result.bytes, frame, tolerance) }
          },
        }
        const rounds = await runRounds(sides, plan.fast, say)
        const outside = { ratio: 0.1 }
        const alone = { ratio: 0.85, stretch: 0.45 }
        const row = { id: 'S8', ours: 'JPEG over HTTP' }
        return [
          compareSides(
            rounds,
            { baseline: 'outside', ours: 'ours' },
            { ...row, baseline: 'incus exec scrot + file pull', target: outside },
          ),
          compareSides(
            rounds,
            { baseline: 'inside', ours: 'ours' },
            { ...row, baseline: 'scrot inside, alone', target: alone },
          ),
        ]
      })
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}

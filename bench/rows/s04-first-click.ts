import { setTimeout as delay } from 'node:timers/promises'
import { countChanged, type Area } from '../canvas.ts'
import { installScrot } from '../desktop.ts'
import { createMachine, deleteMachine, takeLease, waitForDesktop, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/** A click of the right button on the backdrop opens a menu below and right of it. */
const click = { x: 640, y: 250 }
const menu: Area = { left: 650, top: 260, width: 160, height: 160 }
const elsewhere: Area = { left: 100, top: 260, width: 160, height: 160 }
const image = 'bench-desktop'
const boundMs = 120_000

/**
 * From nothing to a click that is seen to do something. The picture must have changed where the menu
 * opens and nowhere else: a desktop that only just paints itself does not count.
 */
export const bench: Bench = {
  name: 's04-first-click',
  title: 'create → a click changes pixels',
  async run(context) {
    await bakeImage(context)
    const sides = {
      baseline: (round: number) => launch(context, `s04-${round}`),
      ours: (round: number) => create(context, `s04-${round}`),
    }
    const target = { ratio: 0.8 }
    const rounds = await runRounds(sides, context.plan.slow, context.say)
    const row = {
      id: 'S4',
      ours: 'create → click',
      baseline: 'incus launch + X + xdotool + scrot',
      target,
    }
    return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
  },
}

async function create({ api }: BenchContext, name: string): Promise<Sample> {
  let machine: Machine | undefined
  try {
    const { ms } = await time(async () => {
      machine = await createMachine(api, name)
      const { id } = machine
      await waitForDesktop(api, id)
      await takeLease(api, id)
      const look = async () => {
        const headers = { accept: 'image/png' }
        return (await api.call('GET', `/v1/machines/${id}/screenshot`, { headers })).body
      }
      await clickUntilSeen(look, () =>
        api.json('POST', `/v1/machines/${id}/mouse/click`, { at: click, button: 'right' }),
      )
    })
    return { ms }
  } finally {
    if (machine) await deleteMachine(api, machine.id)
  }
}

async function launch({ incus }: BenchContext, name: string): Promise<Sample> {
  const run = (command: string) => incus.exec(name, 'env', 'DISPLAY=:0', 'sh', '-c', command)
  try {
    const { ms } = await time(async () => {
      await incus.run(...incus.launchArgs(image, name))
      await run('until xdotool getdisplaygeometry; do sleep 0.05; done >/dev/null 2>&1')
      await clickUntilSeen(
        () => run('scrot --overwrite /tmp/shot.png && cat /tmp/shot.png'),
        () => run(`xdotool mousemove ${click.x} ${click.y} click 3`),
      )
    })
    return { ms }
  } finally {
    await incus.remove(name)
  }
}

/** Clicks again when nothing came of it within a second: what should have heard it was not there yet. */
async function clickUntilSeen(
  look: () => Promise<Buffer>,
  act: () => Promise<unknown>,
): Promise<void> {
  const deadline = performance.now() + boundMs
  while (performance.now() < deadline) {
    const before = await look()
    await act()
    const patience = performance.now() + 1000
    while (performance.now() < patience) {
      const after = await look()
      const changed = await countChanged(before, after, menu)
      if (changed < (menu.width * menu.height) / 2) {
        await delay(5)
        continue
      }
      if ((await countChanged(before, after, elsewhere)) === 0) return
      break
    }
  }
  throw new Error(`no click was seen in ${boundMs} ms`)
}

/** What a user would launch: the same image with a screenshot tool in it, unpacked beforehand. */
async function bakeImage({ incus, say }: BenchContext): Promise<void> {
  say('baking an image with scrot for the baseline')
  const name = 's04-image'
  await incus.run(...incus.launchArgs(incus.image, name))
  await incus.exec(name, 'sh', '-c', 'until ip -4 route | grep -q default; do sleep 0.2; done')
  await installScrot((...command) => incus.exec(name, ...command))
  await incus.exec(name, 'sync')
  await incus.run('stop', '--force', '--project', 'bench', name)
  await incus.publish(name, image)
  await incus.remove(name)
  await incus.run(...incus.launchArgs(image, name))
  await incus.remove(name)
}

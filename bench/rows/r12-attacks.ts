import { startOutside } from '../../e2e/attacks/outside.ts'
import { attacks, internet } from '../attacks.ts'
import { compareInTurns, compareTimes, whoLives } from '../bystander.ts'
import { createMachine, deleteMachine, polling, withMachine } from '../machine.ts'
import { findInit, readGuestCpuMs } from '../processes.ts'
import type { Bench, BenchContext, FigureRow } from '../row.ts'

/** Root of one machine attacks what machines share, and another machine is used as usual. */
export const bench: Bench = {
  name: 'r12-attacks',
  title: 'calls of others beside an attacker',
  run: async (context) => {
    using _ = await startOutside([internet])
    return withMachine(context.api, 'r12', async ({ id }) => {
      await context.api.waitForDesktop(id, polling)
      const rows: FigureRow[] = []
      for (const [name, script] of Object.entries(attacks)) {
        context.say(name)
        rows.push(...(await measure(context, id, name, script)))
      }
      return rows
    })
  },
}

async function measure(
  context: BenchContext,
  victim: string,
  name: string,
  script: string,
): Promise<FigureRow[]> {
  const { api, incus } = context
  const { id } = await createMachine(api, 'r12-attacker')
  const attacker = `/v1/machines/${id}`
  await api.ok('POST', `${attacker}/stop?wait=60`, { force: true })
  try {
    const before = await whoLives(context, victim)
    let cpuMs = 0
    const { quiet, attacked, attackedMs } = await compareInTurns(context, victim, async (work) => {
      await api.ok('POST', `${attacker}/start`)
      await api.waitForDesktop(id, polling)
      const instance = await incus.instanceOf(id)
      const init = await findInit(incus, instance.project, instance.name)
      const started = readGuestCpuMs(init)
      const launch = 'cat > /run/attack; setsid sh /run/attack </dev/null >/dev/null 2>&1 &'
      await api.run(id, ['sh', '-c', launch], { user: 'root', stdin: script })
      await work()
      cpuMs += readGuestCpuMs(init) - started
      await api.ok('POST', `${attacker}/stop?wait=60`, { force: true })
    })
    if (cpuMs < 0.05 * attackedMs) throw new Error(`${name}: it did nothing`)
    const after = await whoLives(context, victim)
    if (after !== before) throw new Error(`${name}: ${before} became ${after}`)
    return [
      ...compareTimes('R12', name, quiet, attacked),
      {
        kind: 'figure',
        id: 'R12',
        what: `${name}: processors that the attacker uses`,
        value: (cpuMs / attackedMs) * 100,
        unit: '% CPU',
      },
    ]
  } finally {
    await deleteMachine(api, id)
  }
}

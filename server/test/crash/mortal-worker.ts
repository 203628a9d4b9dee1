import {
  DeleteQueryNode,
  InsertQueryNode,
  TableNode,
  UpdateQueryNode,
  type KyselyPlugin,
  type RootOperationNode,
} from 'kysely'
import type { MachineDriver } from '../../src/drivers/machine-driver.ts'
import { runWorker } from '../../src/worker/loop.ts'
import type { TestServer } from '../harness.ts'
import { beginLife, type Life } from './life.ts'

export type MortalWorker = ReturnType<typeof startMortalWorker>

/** Calls of periodic work, which are not steps of a machine or a capture. */
const background =
  /^(prepare|ping|hasImage|addImage|connect|list|listCaptures|sweep|measurePool|measureMemory|adjustDiskLimits|closeAddresses)$/
/** The tables that steps write. */
const stepped =
  /^(machines|warm_machines|machine_events|meter_intervals|captures|snapshots|uid_slots|sessions|input_leases)$/

/** A worker with a life of its own. `stop` shuts it down, or waits for the end of a dead one. */
export function startMortalWorker({ app, engine }: Pick<TestServer, 'app' | 'engine'>) {
  const life = beginLife()
  const breakOff = (name: string, args: readonly unknown[]) => {
    if (name !== 'driver.capture') return
    const [ref, id] = args as Parameters<MachineDriver['capture']>
    engine.controls.breakCapture(ref, id)
  }
  const stopping = new AbortController()
  const working = runWorker(
    {
      ...app,
      db: app.db.withPlugin(livingRows(life)),
      driver: { ...through(life, 'driver', app.driver, breakOff), watch: watchNothing },
      guests: through(life, 'guest', app.guests, breakOff),
    },
    stopping.signal,
  )
  return {
    life,
    stop: () => {
      stopping.abort()
      return working
    },
  }
}

/** The same functions, whose calls pass through the life. */
function through<T extends object>(
  life: Life,
  prefix: string,
  target: T,
  breakOff: (name: string, args: readonly unknown[]) => void,
): T {
  const entries = Object.entries(target).map(([key, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [key, value]
    const name = `${prefix}.${key}`
    return [
      key,
      (...args: unknown[]) => {
        const make = () => value.apply(target, args) as Promise<unknown>
        if (background.test(key)) return life.live(make)
        return life.call({ name, make, breakOff: () => breakOff(name, args) })
      },
    ]
  })
  return Object.fromEntries(entries) as T
}

/** No notifications from the engine: their timing is random, and the steps must keep one order. */
// oxlint-disable-next-line require-yield
async function* watchNothing(signal: AbortSignal) {
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

/** Access to rows until the worker dies. Then its transactions roll back. */
function livingRows(life: Life): KyselyPlugin {
  return {
    transformQuery({ node }) {
      const table = writtenTable(node)
      if (table && stepped.test(table)) life.write(`write.${table}`)
      else life.requireAlive()
      return node
    },
    async transformResult({ result }) {
      life.requireAlive()
      return result
    },
  }
}

/** Undefined for reads, and for claims, whose statements are raw SQL. */
function writtenTable(node: RootOperationNode): string | undefined {
  const target = InsertQueryNode.is(node)
    ? node.into
    : UpdateQueryNode.is(node)
      ? node.table
      : DeleteQueryNode.is(node)
        ? node.from.froms[0]
        : undefined
  return target && TableNode.is(target) ? target.table.identifier.name : undefined
}

import type { Caller } from './caller.ts'
import { disks } from './disk-operations.ts'
import { help } from './help-operations.ts'
import { countUp, record } from './ledger.ts'
import { lifecycle, type Operation } from './operations.ts'

/** Operations that callers can also do while processes of the server are killed. */
export const lastingOperations: readonly Operation[] = [...lifecycle, ...disks, ...help]
const machinesPerCaller = 2

/** Runs one of the operations that is possible now. It has been counted when the call returns. */
export async function runNext(caller: Caller, operations: readonly Operation[]): Promise<void> {
  const { name, run } = choose(caller, operations)
  const { ledger } = caller
  ledger.counts.operations += 1
  countUp(ledger.counts.byOperation, name)
  record(ledger, `${caller.name} starts: ${name}`)
  await run()
}

/** Chooses an operation that is possible now, and a machine for it. */
function choose(
  caller: Caller,
  operations: readonly Operation[],
): { readonly name: string; run(): Promise<void> } {
  const { machines, random } = caller
  const hasRoom = machines.length < machinesPerCaller
  const fit = ({ needs }: Operation) => {
    if (needs === 'snapshot') return machines.filter((one) => caller.snapshotsOf(one).length > 0)
    return machines.filter(({ states }) => needs === 'any' || (needs && states.has(needs)))
  }
  const operation = random.pickWeighted(
    operations.filter((one) => (hasRoom || !one.adds) && (!one.needs || fit(one).length > 0)),
  )
  const { name } = operation
  if (!operation.needs) return { name, run: () => operation.run(caller) }
  const machine = random.pick(fit(operation))
  return { name, run: () => operation.run(caller, machine) }
}

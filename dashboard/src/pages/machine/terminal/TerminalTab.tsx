import { useMachine } from '../use-machine.ts'
import { Terminals } from './Terminals.tsx'

/** The terminals of a machine. They keep running in it when the page is closed. */
export function TerminalTab() {
  const { record, machine } = useMachine()
  return <Terminals key={record.id} machine={machine} />
}

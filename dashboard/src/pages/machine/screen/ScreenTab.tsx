import { NotRunning } from '../NotRunning.tsx'
import { useMachine } from '../use-machine.ts'
import { ScreenView } from './ScreenView.tsx'

/** The live screen of a machine. Looking opens no session; driving takes the input lease. */
export function ScreenTab() {
  const { record, machine } = useMachine()
  if (record.state !== 'running') return <NotRunning record={record} />
  return <ScreenView key={record.id} machine={machine} />
}

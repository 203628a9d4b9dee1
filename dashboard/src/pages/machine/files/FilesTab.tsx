import { useMachine } from '../use-machine.ts'
import { NotRunning } from '../NotRunning.tsx'
import { FileBrowser } from './FileBrowser.tsx'
import { UploadPanel } from './UploadPanel.tsx'

/** The files of a machine, which only a running machine can tell. */
export function FilesTab() {
  const { record } = useMachine()
  return (
    <section aria-label="Files" className="flex min-h-0 flex-1 flex-col">
      {record.state === 'running' ? (
        <FileBrowser key={record.id} machine={record} />
      ) : (
        <NotRunning record={record} />
      )}
      <UploadPanel machineId={record.id} />
    </section>
  )
}

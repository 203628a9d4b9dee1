import { Empty } from '../../../ui/Empty.tsx'
import { sdkExample } from '../sdk-example.ts'
import { visibleName } from './paths.ts'

export function EmptyFolder({
  machineName,
  path,
}: {
  readonly machineName: string
  readonly path: string
}) {
  // A path with other characters would need quotes, which depend on the shell.
  const isPlain = /^[\w./+@-]+$/.test(path)
  return (
    <Empty
      title="This folder is empty"
      cli={isPlain ? `computer cp note.txt ${machineName}:${path}` : undefined}
      sdk={
        isPlain
          ? sdkExample(machineName, `await machine.files.write('${path}/note.txt', 'a note')`)
          : undefined
      }
    >
      Drop files or folders anywhere to put them into{' '}
      <bdi className="break-all">{visibleName(path)}</bdi>.
    </Empty>
  )
}

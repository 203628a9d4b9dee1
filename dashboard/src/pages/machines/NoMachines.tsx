import type { ReactNode } from 'react'
import { Empty } from '../../ui/Empty.tsx'

/** The first thing that a new organization sees. */
export function NoMachines({ action }: { readonly action: ReactNode }) {
  return (
    <Empty
      title="No machines yet"
      action={action}
      cli={`curl -fsS ${location.origin}/install.sh | bash\ncomputer create --name first`}
      sdk={`import { Computer } from '@computer/sdk'\n\nconst computer = new Computer()\nconst machine = await computer.machines.create({ name: 'first' })\nawait machine.open('https://example.com')`}
    >
      A machine is a Linux computer with a desktop, a shell and a browser. It keeps its disk until
      it is deleted, and an agent or a person can drive it.
    </Empty>
  )
}

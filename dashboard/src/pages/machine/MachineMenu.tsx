import type { MachineRecord } from '@computer/sdk'
import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { restartMachine, startMachine, stopMachine } from '../../api/machine-actions.ts'
import { useDenial } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Ellipsis, GitFork, Monitor, Play, Power, RotateCcw, Trash2 } from '../../ui/icons.ts'
import { Menu, MenuItem, MenuSeparator } from '../../ui/Menu.tsx'
import { notifyError } from '../../ui/notify.ts'
import { whyNot } from './steps.ts'

const DeleteMachine = lazy(async () => ({
  default: (await import('./DeleteMachine.tsx')).DeleteMachine,
}))
const ForkMachine = lazy(async () => ({
  default: (await import('./ForkMachine.tsx')).ForkMachine,
}))

/** Everything that can be done with a machine from where it is shown. */
export function MachineMenu({
  machine,
  size = 'small',
}: {
  readonly machine: MachineRecord
  readonly size?: 'small' | 'medium'
}) {
  const { id, name } = machine
  const navigate = useNavigate()
  const [asks, setAsks] = useState<'fork' | 'delete'>()
  const controlDenied = useDenial('machines:control')
  const createDenied = useDenial('machines:create')
  const deleteDenied = useDenial('machines:delete')
  const run = (what: string, call: Promise<void>) =>
    void call.catch((error: unknown) => notifyError(`${name} could not be ${what}`, error))
  return (
    <>
      <Menu
        trigger={
          <Button look="ghost" size={size} label={`Actions of ${name}`} icon={<Ellipsis />} />
        }
      >
        <MenuItem
          icon={<Monitor aria-hidden />}
          onSelect={() => void navigate({ to: '/m/$machineId', params: { machineId: id } })}
        >
          Open
        </MenuItem>
        <MenuSeparator />
        <MenuItem
          icon={<Play aria-hidden />}
          disabledReason={controlDenied ?? whyNot('start', machine)}
          onSelect={() => run('started', startMachine(machine))}
        >
          Start
        </MenuItem>
        <MenuItem
          icon={<Power aria-hidden />}
          disabledReason={controlDenied ?? whyNot('stop', machine)}
          onSelect={() => run('stopped', stopMachine(machine))}
        >
          Stop
        </MenuItem>
        <MenuItem
          icon={<RotateCcw aria-hidden />}
          disabledReason={controlDenied ?? whyNot('restart', machine)}
          onSelect={() => run('restarted', restartMachine(machine))}
        >
          Restart
        </MenuItem>
        <MenuItem
          icon={<GitFork aria-hidden />}
          disabledReason={createDenied ?? whyNot('fork', machine)}
          onSelect={() => setAsks('fork')}
        >
          Fork
        </MenuItem>
        <MenuSeparator />
        <MenuItem
          icon={<Trash2 aria-hidden />}
          danger
          disabledReason={deleteDenied ?? whyNot('delete', machine)}
          onSelect={() => setAsks('delete')}
        >
          Delete
        </MenuItem>
      </Menu>
      <Suspense>
        {asks === 'fork' && <ForkMachine machine={machine} onClose={() => setAsks(undefined)} />}
        {asks === 'delete' && (
          <DeleteMachine machine={machine} onClose={() => setAsks(undefined)} />
        )}
      </Suspense>
    </>
  )
}

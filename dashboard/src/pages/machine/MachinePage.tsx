import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useShownMachine } from '../../api/live.ts'
import { useShortcut } from '../../keyboard/shortcuts.ts'
import { useTitle } from '../../ui/Page.tsx'
import { MachineBudgets } from './MachineBudgets.tsx'
import { MachineFailure } from './MachineFailure.tsx'
import { MachineHeader } from './MachineHeader.tsx'
import { useMachine } from './use-machine.ts'

const tabs = [
  { to: '/m/$machineId', label: 'Screen' },
  { to: '/m/$machineId/terminal', label: 'Terminal' },
  { to: '/m/$machineId/files', label: 'Files' },
  { to: '/m/$machineId/snapshots', label: 'Snapshots' },
  { to: '/m/$machineId/ports', label: 'Ports' },
  { to: '/m/$machineId/secrets', label: 'Secrets' },
  { to: '/m/$machineId/events', label: 'Timeline' },
  { to: '/m/$machineId/usage', label: 'Usage' },
  { to: '/m/$machineId/settings', label: 'Settings' },
] as const

/** One machine: what it is, what it does, and its tabs. */
export function MachinePage() {
  const { record } = useMachine()
  useShownMachine(record.id)
  useTitle(record.name)
  return (
    <div className="flex min-h-full flex-col">
      <MachineHeader machine={record} />
      <nav
        aria-label={`Parts of ${record.name}`}
        className="overflow-x-auto border-b border-line px-2 sm:px-4"
      >
        <ul className="flex gap-1">
          {tabs.map(({ to, label }, index) => (
            <li key={to}>
              <Link
                to={to}
                params={{ machineId: record.id }}
                activeOptions={{ exact: true, includeSearch: false }}
                className="block border-b-2 border-transparent px-2.5 py-2 whitespace-nowrap text-muted hover:text-fg data-[status=active]:border-accent-fg data-[status=active]:font-medium data-[status=active]:text-fg"
              >
                {label}
              </Link>
              <TabShortcut to={to} label={label} keys={String(index + 1)} machineId={record.id} />
            </li>
          ))}
        </ul>
      </nav>
      {record.state === 'error' && <MachineFailure machine={record} />}
      <MachineBudgets machine={record} />
      <div className="flex min-h-0 flex-1 flex-col">
        <Outlet />
      </div>
    </div>
  )
}

function TabShortcut({
  to,
  label,
  keys,
  machineId,
}: {
  readonly to: (typeof tabs)[number]['to']
  readonly label: string
  readonly keys: string
  readonly machineId: string
}) {
  const navigate = useNavigate()
  useShortcut(
    keys,
    `Show ${label.toLowerCase()}`,
    () => void navigate({ to, params: { machineId } }),
  )
  return null
}

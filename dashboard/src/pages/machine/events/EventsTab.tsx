import type { MachineEventType } from '@computer/sdk'
import { machineEventTypes } from '@computer/sdk/tables'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { machineEventsQuery } from '../../../api/events.ts'
import { Empty } from '../../../ui/Empty.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Select } from '../../../ui/Select.tsx'
import { eventWords } from '../../../words.ts'
import { sdkExample } from '../sdk-example.ts'
import { useMachine } from '../use-machine.ts'
import { EventLog } from './EventLog.tsx'

/** What happened to a machine, as it happens. The filter is in the address. */
export function EventsTab() {
  const { record } = useMachine()
  const search = useSearch({ from: '/app/m/$machineId/events' })
  const navigate = useNavigate({ from: '/m/$machineId/events' })
  const type = machineEventTypes.find((one) => one === search.type)
  const query = useQuery(machineEventsQuery(record.id, type))
  const filterBy = (next: MachineEventType | 'all') =>
    void navigate({ search: next === 'all' ? {} : { type: next }, replace: true })
  return (
    <section aria-label="Events" className="mx-auto w-full max-w-5xl px-4 py-5 sm:px-6">
      <div className="mb-4 flex flex-wrap items-end justify-between gap-2">
        <p className="text-muted">New events appear by themselves.</p>
        <Select
          label="Type of event"
          hideLabel
          value={type ?? 'all'}
          onChange={filterBy}
          className="w-60"
          choices={[
            { value: 'all', label: 'Every event' },
            ...machineEventTypes.map((value) => ({
              value,
              label: eventWords[value],
              detail: value,
            })),
          ]}
        />
      </div>
      <QueryView query={query}>
        {(log) =>
          log.events.length === 0 ? (
            <NoEvents machineName={record.name} type={type} />
          ) : (
            <EventLog key={type} machineId={record.id} type={type} log={log} />
          )
        }
      </QueryView>
    </section>
  )
}

function NoEvents({
  machineName,
  type,
}: {
  readonly machineName: string
  readonly type: MachineEventType | undefined
}) {
  return (
    <Empty
      title={type ? `No event “${eventWords[type]}”` : 'No events'}
      cli={`computer events ${machineName} --follow`}
      sdk={sdkExample(
        machineName,
        'for await (const event of machine.events.subscribe()) {',
        '  console.log(event.type, event.message)',
        '}',
      )}
    >
      {type
        ? `Nothing of the type ${type} has happened to ${machineName} so far.`
        : `What happens to ${machineName} is listed here.`}
    </Empty>
  )
}

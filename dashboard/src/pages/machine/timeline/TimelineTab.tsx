import { useNavigate, useSearch } from '@tanstack/react-router'
import { Empty } from '../../../ui/Empty.tsx'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Select } from '../../../ui/Select.tsx'
import { sdkExample } from '../sdk-example.ts'
import { useMachine } from '../use-machine.ts'
import { filterChoices, partsOf, readFilter, type TimelineFilter } from './filter.ts'
import { TimelineList } from './TimelineList.tsx'
import { useTimeline } from './use-timeline.ts'

/**
 * The timeline of a machine, as it happens: its events say what became of it, its activity who did what with it. The
 * filter is in the address.
 */
export function TimelineTab() {
  const { record } = useMachine()
  const search = useSearch({ from: '/app/m/$machineId/events' })
  const navigate = useNavigate({ from: '/m/$machineId/events' })
  const filter = readFilter(search.type)
  const query = useTimeline(record.id, partsOf(filter))
  const filterBy = (next: TimelineFilter) =>
    void navigate({ search: next === 'all' ? {} : { type: next }, replace: true })
  return (
    <section aria-label="Timeline" className="mx-auto w-full max-w-5xl px-4 py-5 sm:px-6">
      <div className="mb-4 flex flex-wrap items-end justify-between gap-2">
        <p className="text-muted">
          New entries appear by themselves. Activity is kept for 30 days.
        </p>
        <Select
          label="Show"
          hideLabel
          value={filter}
          onChange={filterBy}
          className="w-60"
          choices={filterChoices}
        />
      </div>
      <QueryView query={query}>
        {(timeline) =>
          timeline.entries.length === 0 ? (
            <NoEntries machineName={record.name} filter={filter} />
          ) : (
            <TimelineList key={filter} timeline={timeline} />
          )
        }
      </QueryView>
    </section>
  )
}

function NoEntries({
  machineName,
  filter,
}: {
  readonly machineName: string
  readonly filter: TimelineFilter
}) {
  const isOfEvents = partsOf(filter).events !== null
  const isType = filter.includes('.')
  const what = isOfEvents ? 'event' : 'activity'
  const label = filterChoices.find(({ value }) => value === filter)?.label
  const command = `computer ${isOfEvents ? 'events' : 'activity'} ${machineName} --follow`
  return (
    <Empty
      title={isType ? `No ${what} “${label}”` : isOfEvents ? 'No events' : 'No activity'}
      cli={command}
      sdk={
        isOfEvents
          ? sdkExample(
              machineName,
              'for await (const event of machine.events.subscribe()) {',
              '  console.log(event.type, event.message)',
              '}',
            )
          : sdkExample(
              machineName,
              'for await (const entry of machine.activity.subscribe()) {',
              '  console.log(entry.type, entry.actor?.name)',
              '}',
            )
      }
    >
      {isType
        ? `Nothing of the type ${filter} has happened to ${machineName} so far.`
        : isOfEvents
          ? `What happens to ${machineName} is listed here.`
          : `What is done with ${machineName} is listed here: input, commands, files, previews and secrets.`}
    </Empty>
  )
}

import type { Meter, UsageRecord, UsageSummary } from '@computer/sdk'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { usageLabelsQuery, usageSumsQuery } from '../../api/usage.ts'
import { formatMoney } from '../../format.ts'
import { formatQuantity, meterWords } from '../../quantities.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Select } from '../../ui/Select.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { ChooseLabels } from './ChooseLabels.tsx'
import { groupOf, readGrouping, writeGrouping, type Grouping } from './groups.ts'
import { sharesOf } from './shares.ts'
import type { Window } from './window.ts'

/** The usage of a meter by machine, caller or label and, for a billing period, the cost of each. */
export function UsageGroups({
  meter,
  window,
  summary,
}: {
  readonly meter: Meter
  readonly window: Window
  readonly summary: UsageSummary | undefined
}) {
  const { by } = useSearch({ from: '/app/usage' })
  const grouping = readGrouping(by)
  const query = useInfiniteQuery(usageSumsQuery(window, grouping))
  const labels = useQuery(usageLabelsQuery)
  const keys = labels.data?.keys ?? []
  return (
    <section aria-label="Who used it" className="space-y-2">
      <div className="flex flex-wrap gap-2">
        <GroupingSelect grouping={grouping} keys={keys} />
        {labels.data && <ChooseLabels keys={keys} />}
      </div>
      <QueryView query={query}>
        {({ pages }) => (
          <GroupTable
            grouping={grouping}
            meter={meter}
            records={pages.flatMap(({ data }) => data)}
            summary={summary}
            isWhole={!query.hasNextPage}
          />
        )}
      </QueryView>
      <LoadMore query={query} label="Load more" />
    </section>
  )
}

function GroupingSelect({
  grouping,
  keys,
}: {
  readonly grouping: Grouping
  readonly keys: readonly string[]
}) {
  const navigate = useNavigate()
  const chosen = writeGrouping(grouping)
  const own = grouping.by === 'label' && !keys.includes(grouping.key) ? [grouping.key] : []
  return (
    <Select
      label="Sums"
      hideLabel
      value={chosen}
      choices={[
        { value: 'machine', label: 'By machine' },
        { value: 'key', label: 'By caller' },
        ...[...keys, ...own].map((key) => ({ value: `label:${key}`, label: `By label ${key}` })),
      ]}
      onChange={(next) =>
        void navigate({
          to: '/usage',
          search: ({ meter, window }) => ({
            ...(meter !== undefined && { meter }),
            ...(window !== undefined && { window }),
            ...(next !== 'machine' && { by: next }),
          }),
          replace: true,
        })
      }
      className="w-52"
    />
  )
}

const words = {
  machine: { label: 'Usage by machine', head: 'Machine', all: 'All machines' },
  key: { label: 'Usage by caller', head: 'Caller', all: 'All callers' },
  label: { label: 'Usage by label', head: 'Label', all: 'All' },
}

function GroupTable({
  grouping,
  meter,
  records,
  summary,
  isWhole,
}: {
  readonly grouping: Grouping
  readonly meter: Meter
  readonly records: readonly UsageRecord[]
  readonly summary: UsageSummary | undefined
  readonly isWhole: boolean
}) {
  const { label, head, all } = words[grouping.by]
  const shares = summary && sharesOf(summary.lines, records, isWhole)
  const groups = new Map(records.map((record) => [groupOf(record), record]))
  const used = new Map(
    records.filter((one) => one.meter === meter).map((one) => [groupOf(one), one.quantity]),
  )
  return (
    <Table
      label={label}
      head={[head, meterWords[meter], ...(shares ? ['Cost of all it used'] : [])]}
    >
      {[...groups].map(([id, record]) => (
        <Row key={id}>
          <Cell className="max-w-64 truncate">
            <GroupName record={record} grouping={grouping} />
          </Cell>
          <Cell className="tabular-nums">{formatQuantity(meter, used.get(id) ?? '0')}</Cell>
          {shares && summary && (
            <Cell className="tabular-nums">
              {formatMoney(shares.get(id) ?? 0, summary.currency)}
            </Cell>
          )}
        </Row>
      ))}
      {summary && isWhole && (
        <Row>
          <Cell className="font-medium">{all}</Cell>
          <Cell>{''}</Cell>
          <Cell className="font-medium tabular-nums">
            {formatMoney(summary.totalCents, summary.currency)}
          </Cell>
        </Row>
      )}
    </Table>
  )
}

function GroupName({
  record: { machineId, machineName, actor, labels },
  grouping,
}: {
  readonly record: UsageRecord
  readonly grouping: Grouping
}) {
  if (grouping.by === 'label') {
    const value = labels[grouping.key]
    return value === undefined ? <NoName>Without the label</NoName> : <bdi>{value}</bdi>
  }
  if (grouping.by === 'key') {
    if (!actor) return <NoName>Not recorded</NoName>
    return (
      <>
        <bdi>{actor.name}</bdi>
        <span className="text-muted">{actor.type === 'api_key' ? ' · API key' : ''}</span>
      </>
    )
  }
  return machineId === null ? null : (
    <Link
      to="/m/$machineId/usage"
      params={{ machineId }}
      className="underline-offset-2 hover:underline"
    >
      <bdi>{machineName}</bdi>
    </Link>
  )
}

function NoName({ children }: { readonly children: string }) {
  return <span className="text-muted">{children}</span>
}

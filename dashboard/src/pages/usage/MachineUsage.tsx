import type { Meter, UsageRecord, UsageSummary } from '@computer/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { usageByMachineQuery } from '../../api/usage.ts'
import { formatMoney } from '../../format.ts'
import { formatQuantity, meterWords } from '../../quantities.ts'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { sharesOf } from './shares.ts'
import type { Window } from './window.ts'

/** What each machine used of a meter and, of a billing period, what all that it used costs. */
export function MachineUsage({
  meter,
  window,
  summary,
}: {
  readonly meter: Meter
  readonly window: Window
  readonly summary: UsageSummary | undefined
}) {
  const query = useInfiniteQuery(usageByMachineQuery(window))
  return (
    <section aria-label="By machine">
      <h2 className="mb-2 font-medium">By machine</h2>
      <QueryView query={query}>
        {({ pages }) => {
          const records = pages.flatMap(({ data }) => data)
          const isWhole = !query.hasNextPage
          return (
            <MachineTable meter={meter} records={records} summary={summary} isWhole={isWhole} />
          )
        }}
      </QueryView>
      <LoadMore query={query} label="Load more machines" />
    </section>
  )
}

function MachineTable({
  meter,
  records,
  summary,
  isWhole,
}: {
  readonly meter: Meter
  readonly records: readonly UsageRecord[]
  readonly summary: UsageSummary | undefined
  readonly isWhole: boolean
}) {
  const shares = summary && sharesOf(summary.lines, records, isWhole)
  const machines = new Map(records.map(({ machineId, machineName }) => [machineId, machineName]))
  const used = new Map(
    records.filter((one) => one.meter === meter).map((one) => [one.machineId, one.quantity]),
  )
  return (
    <Table
      label="Usage by machine"
      head={['Machine', meterWords[meter], ...(shares ? ['Cost of all it used'] : [])]}
    >
      {[...machines].map(([id, name]) => (
        <Row key={id}>
          <Cell className="max-w-64 truncate">
            <Link
              to="/m/$machineId/usage"
              params={{ machineId: id }}
              className="underline-offset-2 hover:underline"
            >
              <bdi>{name}</bdi>
            </Link>
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
          <Cell className="font-medium">All machines</Cell>
          <Cell>{''}</Cell>
          <Cell className="font-medium tabular-nums">
            {formatMoney(summary.totalCents, summary.currency)}
          </Cell>
        </Row>
      )}
    </Table>
  )
}

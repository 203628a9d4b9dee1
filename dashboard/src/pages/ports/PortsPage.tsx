import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { portsQuery } from '../../api/ports.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { Time } from '../../ui/Time.tsx'
import { MachineLink } from '../machine/MachineLink.tsx'
import { AccessBadge } from '../machine/ports/AccessBadge.tsx'
import { PortLink } from '../machine/ports/PortLink.tsx'
import { sdkExample } from '../machine/sdk-example.ts'

/** Everything of the organization that the web can reach. */
export function PortsPage() {
  const query = useInfiniteQuery(portsQuery)
  return (
    <Page
      title="Ports"
      description="The web servers on machines that have an address. Publish and unpublish them on the page of their machine."
    >
      <QueryView query={query}>
        {({ pages }) => {
          const ports = pages.flatMap(({ data }) => data)
          if (ports.length === 0) return <NoPorts />
          return (
            <>
              <Table
                label="Published ports"
                head={['Machine', 'Port', 'Address', 'Access', 'Last request']}
              >
                {ports.map(({ id, machineId, port, name, url, access, lastRequestAt }) => (
                  <Row key={id}>
                    <Cell className="whitespace-nowrap">
                      <MachineLink machineId={machineId} tab="/m/$machineId/ports" />
                    </Cell>
                    <Cell>
                      <span className="font-medium tabular-nums">{port}</span>
                      {name !== null && (
                        <bdi className="block max-w-40 truncate text-muted" title={name}>
                          {name}
                        </bdi>
                      )}
                    </Cell>
                    <Cell>
                      <PortLink url={url} />
                    </Cell>
                    <Cell>
                      <AccessBadge access={access} />
                    </Cell>
                    <Cell className="text-muted">
                      {lastRequestAt === null ? 'none yet' : <Time iso={lastRequestAt} />}
                    </Cell>
                  </Row>
                ))}
              </Table>
              <LoadMore query={query} />
            </>
          )
        }}
      </QueryView>
    </Page>
  )
}

function NoPorts() {
  const navigate = useNavigate()
  return (
    <Empty
      title="No published ports"
      action={<Button onClick={() => void navigate({ to: '/' })}>Choose a machine</Button>}
      cli="computer ports publish my-machine 3000"
      sdk={sdkExample('my-machine', 'const { url, secret } = await machine.ports.publish(3000)')}
    >
      A published port gives a web server on a machine an https address. Publish one on the Ports
      tab of a machine.
    </Empty>
  )
}

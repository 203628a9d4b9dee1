import type { MachineRecord, Preview } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { machinePortsQuery, unpublishPort } from '../../../api/ports.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { Confirm } from '../../../ui/Confirm.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { Globe, Trash2 } from '../../../ui/icons.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../../ui/Table.tsx'
import { Time } from '../../../ui/Time.tsx'
import { sdkExample } from '../sdk-example.ts'
import { useMachine } from '../use-machine.ts'
import { AccessBadge } from './AccessBadge.tsx'
import { PortLink } from './PortLink.tsx'
import { PublishPort } from './PublishPort.tsx'

/** The ports of a machine that the web can reach. */
export function PortsTab() {
  const { record } = useMachine()
  const query = useQuery(machinePortsQuery(record.id))
  const [isPublishing, setPublishing] = useState(false)
  const denied = useDenial('ports:write')
  const isDeleting = record.state === 'deleting' && `${record.name} is being deleted.`
  const publish = (
    <Button
      look="primary"
      icon={<Globe aria-hidden />}
      disabledReason={denied ?? isDeleting}
      onClick={() => setPublishing(true)}
    >
      Publish a port
    </Button>
  )
  return (
    <section aria-label="Ports" className="mx-auto w-full max-w-5xl px-4 py-5 sm:px-6">
      <QueryView query={query}>
        {(ports) =>
          ports.length === 0 ? (
            <NoPorts machine={record} action={publish} />
          ) : (
            <PortList machine={record} ports={ports} action={publish} />
          )
        }
      </QueryView>
      {isPublishing && <PublishPort machine={record} onClose={() => setPublishing(false)} />}
    </section>
  )
}

function PortList({
  machine,
  ports,
  action,
}: {
  readonly machine: MachineRecord
  readonly ports: readonly Preview[]
  readonly action: ReactNode
}) {
  const denied = useDenial('ports:write')
  const [ending, setEnding] = useState<Preview>()
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Each has an address of its own. It answers while {machine.name} runs and something listens
          on the port.
        </p>
        {action}
      </div>
      <Table
        label={`Published ports of ${machine.name}`}
        head={['Port', 'Address', 'Access', 'Last request', 'Published', '']}
      >
        {ports.map((preview) => (
          <Row key={preview.id}>
            <Cell>
              <span className="font-medium tabular-nums">{preview.port}</span>
              {preview.name !== null && (
                <bdi className="block max-w-40 truncate text-muted" title={preview.name}>
                  {preview.name}
                </bdi>
              )}
            </Cell>
            <Cell>
              <PortLink url={preview.url} />
            </Cell>
            <Cell>
              <AccessBadge access={preview.access} />
            </Cell>
            <Cell className="text-muted">
              {preview.lastRequestAt === null ? 'none yet' : <Time iso={preview.lastRequestAt} />}
            </Cell>
            <Cell className="text-muted">
              <Time iso={preview.createdAt} />
            </Cell>
            <Cell className="text-right">
              <Button
                look="ghost"
                size="small"
                label={`Unpublish port ${preview.port}`}
                icon={<Trash2 aria-hidden />}
                disabledReason={denied}
                onClick={() => setEnding(preview)}
              />
            </Cell>
          </Row>
        ))}
      </Table>
      {ending && (
        <Confirm
          open
          onOpenChange={() => setEnding(undefined)}
          title={`Unpublish port ${ending.port}`}
          action="Unpublish"
          onConfirm={() => unpublishPort(ending)}
        >
          <p>
            Open requests are cut off and the address stops working for good: publishing the port
            again gives it another one. The program on the machine goes on.
          </p>
        </Confirm>
      )}
    </>
  )
}

function NoPorts({
  machine,
  action,
}: {
  readonly machine: MachineRecord
  readonly action: ReactNode
}) {
  return (
    <Empty
      title="No published ports"
      action={action}
      cli={`computer ports publish ${machine.name} 3000`}
      sdk={sdkExample(
        machine.name,
        'const { url, secret } = await machine.ports.publish(3000)',
        'await fetch(url, { headers: { authorization: `Bearer ${secret}` } })',
      )}
    >
      A published port gives a web server on {machine.name} an https address: to show what it
      serves, or to receive calls.
    </Empty>
  )
}

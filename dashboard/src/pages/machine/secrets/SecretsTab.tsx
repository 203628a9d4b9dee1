import type { MachineRecord, Secret } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { deleteSecret, machineSecretsQuery } from '../../../api/secrets.ts'
import { useDenial } from '../../../api/session.ts'
import { Button } from '../../../ui/Button.tsx'
import { Confirm } from '../../../ui/Confirm.tsx'
import { Empty } from '../../../ui/Empty.tsx'
import { Lock, Pencil, Trash2 } from '../../../ui/icons.ts'
import { QueryView } from '../../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../../ui/Table.tsx'
import { sdkExample } from '../sdk-example.ts'
import { useMachine } from '../use-machine.ts'
import { Delivery } from './Delivery.tsx'
import { StoreSecrets } from './StoreSecrets.tsx'

/** The secrets of a machine: their names. Values can be stored and replaced, never read. */
export function SecretsTab() {
  const { record } = useMachine()
  const query = useQuery(machineSecretsQuery(record.id))
  const denied = useDenial('secrets:write')
  const [storing, setStoring] = useState<{ readonly name?: string }>()
  const isDeleting = record.state === 'deleting' && `${record.name} is being deleted.`
  const add = (
    <Button
      look="primary"
      icon={<Lock aria-hidden />}
      disabledReason={denied ?? isDeleting}
      onClick={() => setStoring({})}
    >
      Add secrets
    </Button>
  )
  return (
    <section aria-label="Secrets" className="mx-auto w-full max-w-4xl px-4 py-5 sm:px-6">
      <QueryView query={query}>
        {(secrets) =>
          secrets.length === 0 ? (
            <NoSecrets machine={record} action={add} />
          ) : (
            <SecretList
              machine={record}
              secrets={secrets}
              action={add}
              onReplace={(name) => setStoring({ name })}
            />
          )
        }
      </QueryView>
      {storing && (
        <StoreSecrets
          machine={record}
          {...storing}
          existing={query.data ?? []}
          onClose={() => setStoring(undefined)}
        />
      )}
    </section>
  )
}

function SecretList({
  machine,
  secrets,
  action,
  onReplace,
}: {
  readonly machine: MachineRecord
  readonly secrets: readonly Secret[]
  readonly action: ReactNode
  readonly onReplace: (name: string) => void
}) {
  const denied = useDenial('secrets:write')
  const [deleting, setDeleting] = useState<string>()
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-0 flex-1 basis-60 text-muted">
          Every login on {machine.name} gets these as environment variables. Nobody can read the
          values here.
        </p>
        {action}
      </div>
      <Table label={`Secrets of ${machine.name}`} head={['Name', 'Version', 'Delivery', '']}>
        {secrets.map((secret) => (
          <Row key={secret.name}>
            <Cell>
              <code className="text-[13px] break-all">{secret.name}</code>
            </Cell>
            <Cell className="text-muted tabular-nums">{secret.version}</Cell>
            <Cell className="text-muted">
              <Delivery secret={secret} isRunning={machine.state === 'running'} />
            </Cell>
            <Cell className="text-right whitespace-nowrap">
              <Button
                look="ghost"
                size="small"
                label={`Replace ${secret.name}`}
                icon={<Pencil aria-hidden />}
                disabledReason={denied}
                onClick={() => onReplace(secret.name)}
              />
              <Button
                look="ghost"
                size="small"
                label={`Delete ${secret.name}`}
                icon={<Trash2 aria-hidden />}
                disabledReason={denied}
                onClick={() => setDeleting(secret.name)}
              />
            </Cell>
          </Row>
        ))}
      </Table>
      {deleting !== undefined && (
        <Confirm
          open
          onOpenChange={() => setDeleting(undefined)}
          title={`Delete ${deleting}`}
          action="Delete"
          onConfirm={() => deleteSecret(machine.id, deleting)}
        >
          <p>
            It is removed from the server and from the machine, so new logins do not have it.
            Programs that run keep it, and copies that they made stay.
          </p>
        </Confirm>
      )}
    </>
  )
}

function NoSecrets({
  machine,
  action,
}: {
  readonly machine: MachineRecord
  readonly action: ReactNode
}) {
  return (
    <Empty
      title="No secrets yet"
      action={action}
      cli={`computer secrets set ${machine.name} API_TOKEN < token.txt`}
      sdk={sdkExample(machine.name, `await machine.secrets.set('API_TOKEN', token)`)}
    >
      A secret is an environment variable of {machine.name}, such as a token. It is stored
      encrypted, and its value can be replaced but never read.
    </Empty>
  )
}

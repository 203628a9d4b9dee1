import type { Secret } from '@computer/sdk'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { machineQuery } from '../../api/machines.ts'
import { secretsQuery } from '../../api/secrets.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/Empty.tsx'
import { LoadMore } from '../../ui/LoadMore.tsx'
import { Page } from '../../ui/Page.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { MachineLink } from '../machine/MachineLink.tsx'
import { sdkExample } from '../machine/sdk-example.ts'
import { Delivery } from '../machine/secrets/Delivery.tsx'

/** Which machine has which secrets. Their values cannot be read. */
export function SecretsPage() {
  const query = useInfiniteQuery(secretsQuery)
  return (
    <Page
      title="Secrets"
      description="The names of the secrets of all machines. Store and delete them on the page of their machine."
    >
      <QueryView query={query}>
        {({ pages }) => {
          const secrets = pages.flatMap(({ data }) => data)
          if (secrets.length === 0) return <NoSecrets />
          return (
            <>
              <Table label="Secrets" head={['Name', 'Machine', 'Version', 'Delivery']}>
                {secrets.map((secret) => (
                  <SecretRow key={`${secret.name} ${secret.machineId}`} secret={secret} />
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

function SecretRow({ secret }: { readonly secret: Secret & { readonly machineId: string } }) {
  const { data: record } = useQuery(machineQuery(secret.machineId))
  return (
    <Row>
      <Cell className="min-w-40">
        <code className="text-[13px] break-all">{secret.name}</code>
      </Cell>
      <Cell className="whitespace-nowrap">
        <MachineLink machineId={secret.machineId} tab="/m/$machineId/secrets" />
      </Cell>
      <Cell className="text-muted tabular-nums">{secret.version}</Cell>
      <Cell className="whitespace-nowrap text-muted">
        <Delivery secret={secret} isRunning={record && record.state === 'running'} />
      </Cell>
    </Row>
  )
}

function NoSecrets() {
  const navigate = useNavigate()
  return (
    <Empty
      title="No secrets yet"
      action={<Button onClick={() => void navigate({ to: '/' })}>Choose a machine</Button>}
      cli="computer secrets set my-machine API_TOKEN < token.txt"
      sdk={sdkExample('my-machine', `await machine.secrets.set('API_TOKEN', token)`)}
    >
      A secret is an environment variable of one machine, such as a token. Store one on the Secrets
      tab of a machine.
    </Empty>
  )
}

import type { BudgetScope } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { scopeChoicesQuery } from '../../../api/budgets.ts'
import { MachineLink } from '../../machine/MachineLink.tsx'

/** The scope of a budget, in words. */
export function ScopeName({
  scope: { machineId, apiKeyId, label },
}: {
  readonly scope: BudgetScope
}) {
  if (machineId) return <MachineLink machineId={machineId} />
  if (apiKeyId) return <KeyName id={apiKeyId} />
  if (!label) return 'Everything'
  return (
    <>
      <bdi>{label.key}</bdi> = <bdi>{label.value}</bdi>
    </>
  )
}

function KeyName({ id }: { readonly id: string }) {
  const { data } = useQuery(scopeChoicesQuery)
  const name = data?.keys.find((key) => key.id === id)?.name
  return (
    <>
      API key{' '}
      {name === undefined ? <code className="text-xs break-all">{id}</code> : <bdi>{name}</bdi>}
    </>
  )
}

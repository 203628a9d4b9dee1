import type { MachineSize } from '@computer/sdk'
import { machineSizes } from '@computer/sdk/tables'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { accountQuery, catalogQuery } from '../../api/billing.ts'
import { Select, type Choice } from '../../ui/Select.tsx'
import { formatSize } from './format-size.ts'
import { useRates } from './rates.ts'

/** A choice of a size, with the numbers of each from the catalog. Sizes beyond the plan cannot be chosen. */
export function SizeSelect<T extends string = never>({
  value,
  onChange,
  others = [],
  hint,
  hideLabel,
  className,
}: {
  readonly value: MachineSize | NoInfer<T>
  readonly onChange: (size: MachineSize | NoInfer<T>) => void
  /** What can be chosen instead of a size. */
  readonly others?: readonly Choice<T>[]
  readonly hint?: ReactNode
  readonly hideLabel?: boolean | undefined
  readonly className?: string | undefined
}) {
  const { data: catalog } = useQuery(catalogQuery)
  const { data: account } = useQuery(accountQuery)
  const rates = useRates()
  const largest = account ? machineSizes.indexOf(account.largestSize) : Infinity
  const sizes = machineSizes.map((size, index): Choice<MachineSize> => {
    const known = catalog?.sizes.find(({ id }) => id === size)
    const rate = rates.get(size)
    const isBeyond = index > largest
    const numbers = known && formatSize(known)
    return {
      value: size,
      label: size,
      detail: isBeyond
        ? `${numbers ? `${numbers}. ` : ''}The plan ${account?.plan.name} does not have it.`
        : numbers && `${numbers}${rate ? ` · ${rate} an hour` : ''}`,
      disabled: isBeyond,
    }
  })
  return (
    <Select<MachineSize | T>
      label="Size"
      value={value}
      onChange={onChange}
      choices={[...others, ...sizes]}
      hint={hint}
      hideLabel={hideLabel}
      className={className}
    />
  )
}

import type { ApiKeyScope } from '@computer/sdk'
import { apiKeyScopes } from '@computer/sdk/tables'
import { useSession } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Checkbox } from '../../ui/Checkbox.tsx'
import { describeScope, findPreset, presets, scopeGroups } from './scopes.ts'

/** What a key may change: a usual choice, or scope by scope with what each grants its creator now. */
export function ScopeFields({
  scopes,
  onChange,
}: {
  readonly scopes: readonly ApiKeyScope[]
  readonly onChange: (scopes: readonly ApiKeyScope[]) => void
}) {
  const { permissions } = useSession()
  const chosen = findPreset(scopes)
  const set = (scope: ApiKeyScope, isChecked: boolean) =>
    onChange(apiKeyScopes.filter((one) => (one === scope ? isChecked : scopes.includes(one))))
  return (
    <fieldset>
      <legend className="mb-1 text-[13px] font-medium">Scopes</legend>
      <div role="group" aria-label="Usual choices" className="mb-3 flex flex-wrap gap-2">
        {presets.map((preset) => (
          <Button
            key={preset.label}
            size="small"
            aria-pressed={preset === chosen}
            className={preset === chosen ? 'border-accent! bg-accent-soft!' : undefined}
            onClick={() => onChange(preset.scopes)}
          >
            {preset.label}
          </Button>
        ))}
      </div>
      <div className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
        {scopeGroups.map((group) => (
          <div key={group.title} role="group" aria-label={group.title} className="space-y-1.5">
            <p className="text-xs font-medium text-muted">{group.title}</p>
            {group.scopes.map((scope) => (
              <Checkbox
                key={scope}
                label={<code className="text-[13px]">{scope}</code>}
                checked={scopes.includes(scope)}
                onChange={(isChecked) => set(scope, isChecked)}
                hint={describeScope(scope, permissions)}
              />
            ))}
          </div>
        ))}
      </div>
    </fieldset>
  )
}

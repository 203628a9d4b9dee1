import type { HelpPerson } from '@computer/sdk'
import { personKind } from './help-words.ts'

const maxCharacters = 80

/** The name of a person, which may be of a guest's own choice. */
export function HelpPersonName({ person }: { readonly person: HelpPerson }) {
  return (
    <>
      <bdi className="font-medium">{[...person.name].slice(0, maxCharacters).join('')}</bdi>
      {personKind(person)}
    </>
  )
}

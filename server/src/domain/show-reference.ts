/** The reference in the columns of a row, or null. */
export function showReference<Type extends string>(
  type: Type | null,
  id: string | null,
  name: string | null,
) {
  return type !== null && id !== null && name !== null ? { type, id, name } : null
}

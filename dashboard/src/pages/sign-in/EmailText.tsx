/** An email in a narrow column: it breaks before the host rather than anywhere. */
export function EmailText({ email }: { readonly email: string }) {
  const [name, ...host] = email.split('@')
  return (
    <bdi className="font-medium break-words">
      {name}
      <wbr />
      {host.length > 0 && `@${host.join('@')}`}
    </bdi>
  )
}

/** People by their initials. */

/** Shows the first letter of a name. The name itself is for screen readers and as a tooltip. */
export function Initial({ name }: { readonly name: string }) {
  return (
    <span class="me" title={name}>
      <span aria-hidden="true">{initial(name)}</span>
      <span class="vh">{name}</span>
    </span>
  )
}

export function initial(name: string): string {
  return [...name.trim()][0]?.toLocaleUpperCase('en') ?? '?'
}

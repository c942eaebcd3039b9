/** People by their initials. */

/** Shows the first letter of a name. The name itself is for screen readers and as a tooltip. */
export function Initial({ name }: { readonly name: string }) {
  return (
    <span class="me" data-c={colourOf(name)} title={name}>
      <span aria-hidden="true">{initial(name)}</span>
      <span class="vh">{name}</span>
    </span>
  )
}

/** Shows the first letter of a name that is next to it. */
export function Avatar({ name }: { readonly name: string }) {
  return (
    <span class="me" data-c={colourOf(name)} aria-hidden="true">
      {initial(name)}
    </span>
  )
}

/** The number of colours of people, the first of the map's. */
const colours = 5

/** Returns the colour of a user, which follows from the name. */
export function colourOf(name: string): number {
  let sum = 0
  for (const letter of name.trim()) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9_973
  return sum % colours
}

export function initial(name: string): string {
  return [...name.trim()][0]?.toLocaleUpperCase('en') ?? '?'
}

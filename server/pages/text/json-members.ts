/** Changes members of a JSON object in its text. All others keep their bytes and their order. */

interface Member {
  readonly name: string
  /** The start of the name, and the range of the value. */
  readonly start: number
  readonly from: number
  readonly to: number
}

/** New values as JSON by the name. Undefined removes the member. */
export type MemberChanges = ReadonlyMap<string, string | undefined>

/** Returns node.json with other properties. @param json a valid JSON object */
export function withProperties(json: string, changes: MemberChanges): string {
  if (changes.size === 0) return json
  const at = membersOf(json).findLast(({ name }) => name === 'properties')
  const isObject = at !== undefined && json[at.from] === '{'
  const next = withMembers(isObject ? json.slice(at.from, at.to) : '{}', changes, '\n    ')
  if (!isObject) return withMembers(json, new Map([['properties', next]]), '\n  ')
  return json.slice(0, at.from) + next + json.slice(at.to)
}

/** @param margin goes before each member if the object is empty */
function withMembers(object: string, changes: MemberChanges, margin: string): string {
  let text = object
  for (const [name, value] of changes) text = value === undefined ? without(text, name) : put(text, name, value, margin)
  return text
}

function put(text: string, name: string, value: string, ifEmpty: string): string {
  const members = membersOf(text)
  const [first] = members
  const last = members.at(-1)
  if (!first || !last)
    return `{${ifEmpty}${JSON.stringify(name)}: ${value.replaceAll('\n', ifEmpty)}${ifEmpty.slice(0, -2)}}`
  const space = text.slice(text.indexOf('{') + 1, first.start)
  const margin = space.includes('\n') ? space.slice(space.lastIndexOf('\n')) : ' '
  const written = margin === ' ' ? value.replace(/\n\s*/g, '') : value.replaceAll('\n', margin)
  const found = members.findLast((member) => member.name === name)
  if (found) return text.slice(0, found.from) + written + text.slice(found.to)
  return `${text.slice(0, last.to)},${margin}${JSON.stringify(name)}: ${written}${text.slice(last.to)}`
}

/** Removes all members of the name. */
function without(text: string, name: string): string {
  const members = membersOf(text)
  const at = members.findLastIndex((member) => member.name === name)
  const found = members[at]
  if (!found) return text
  const [before, after] = [members[at - 1], members[at + 1]]
  const rest = before
    ? text.slice(0, before.to) + text.slice(found.to)
    : after
      ? text.slice(0, found.start) + text.slice(after.start)
      : '{}'
  return without(rest, name)
}

/** The members of the outermost object, in order and with duplicates. */
function membersOf(text: string): Member[] {
  const members: Member[] = []
  let name: { readonly start: number; readonly end: number } | undefined
  let from: number | undefined
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g)) {
    const end = index + token.length
    if (token === '}' || token === ']') depth--
    if (depth === 1 && name === undefined && token.startsWith('"')) name = { start: index, end }
    else if (depth === 1 && name && from === undefined && token !== ':') from = index
    if (token === '{' || token === '[') {
      if (depth === 1 && name && from === undefined) from = index
      depth++
    }
    if (depth !== 1 || !name || from === undefined) continue
    members.push({ name: JSON.parse(text.slice(name.start, name.end)), start: name.start, from, to: end })
    name = undefined
    from = undefined
  }
  return members
}

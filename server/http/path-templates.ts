/** Matches paths to templates. The parameter in `/orgs/{org_id}` matches any segment that is not empty. */

import { decodePercent } from '../base/percent-encoding.ts'

export interface PathTemplate {
  /** A literal; undefined for a parameter. */
  readonly segments: readonly (string | undefined)[]
  /** The names of the parameters, in order. */
  readonly names: readonly string[]
}

export function parseTemplate(path: string): PathTemplate {
  const segments = segmentsOf(path)
  const isParameter = (segment: string) => segment.startsWith('{')
  return {
    segments: segments.map((segment) => (isParameter(segment) ? undefined : segment)),
    names: segments.filter(isParameter).map((segment) => segment.slice(1, -1)),
  }
}

/** The segments of a path as sent, for `matchPath`. */
export function segmentsOf(path: string): string[] {
  return path.split('/').slice(1)
}

/** The decoded parameters. Undefined if the path does not match, or is not valid percent-encoded UTF-8. */
export function matchPath(
  { segments, names }: PathTemplate,
  sent: readonly string[],
): Record<string, string> | undefined {
  if (segments.length !== sent.length) return undefined
  const values: string[] = []
  for (const [index, segment] of segments.entries()) {
    const text = sent[index] ?? ''
    if (segment === undefined && text !== '') values.push(text)
    else if (segment !== text) return undefined
  }
  const parameters: Record<string, string> = {}
  for (const [index, value] of values.entries()) {
    const decoded = decodePercent(value)
    if (decoded === undefined) return undefined
    parameters[names[index] ?? ''] = decoded
  }
  return parameters
}

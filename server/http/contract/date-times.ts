/** Which texts are times: the one rule for all that clients send. */

const form = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i

/**
 * Whether it is a time as RFC 3339 has it, of a day that there is. A leap second is none: no clock here counts it. The offset
 * may be without its colon.
 */
export function isDateTime(text: string): boolean {
  const day = form.exec(text)?.[1]
  if (day === undefined) return false
  const time = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) && !Number.isNaN(Date.parse(text))
}

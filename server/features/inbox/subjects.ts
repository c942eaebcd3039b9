/** The subjects of events. Events about the same subject become one item. */
import type { InboxEvent } from './reasons.ts'

/** Returns a key of the pull request. Without one, of the node or the organisation, and the author. */
export function subjectOf({ nodeId, number, actor }: InboxEvent): string {
  const by = actor?.id ?? actor?.name ?? ''
  if (nodeId === null) return `org by ${by}`
  return number === undefined ? `${nodeId} by ${by}` : `${nodeId} ${number}`
}

/** Wakes those who wait for events of an organisation in this process. */

type Listener = (orgId: string) => void

const listeners = new Set<Listener>()

/** Calls the listeners: the log of the organisation has new events. */
export function wake(orgId: string): void {
  for (const listener of listeners) listener(orgId)
}

/** Adds a listener. Returns a function that removes it. */
export function onWake(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

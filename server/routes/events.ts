/** The events of an organisation. */
import { listEvents } from '../domain/events/feed.ts'
import { openStream } from '../domain/events/stream.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { Followed } from '../http/responses/responses.ts'

export const eventRoutes: HandlersOf<'listEvents'> = {
  listEvents: (deps, actor, { path, query, type }) =>
    type === 'text/event-stream'
      ? new Followed((options) => openStream(deps, actor, path, query, options))
      : listEvents(deps, actor, path, query),
}

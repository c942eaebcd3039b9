/** The events of an organisation. */
import { listEvents } from '../domain/events/feed.ts'
import { openStream } from '../domain/events/stream.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { Followed } from '../http/responses/responses.ts'

export const eventRoutes: HandlersOf<'listEvents'> = {
  listEvents: (ctx, { path, query, type }) =>
    type === 'text/event-stream'
      ? new Followed((options) => openStream(ctx, path, query, options))
      : listEvents(ctx, path, query),
}

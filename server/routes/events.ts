/** The events of an organisation. */
import { listEvents } from '../domain/events/feed.ts'
import { openStream } from '../domain/events/stream.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { Followed } from '../http/responses/responses.ts'

export const eventRoutes = {
  listEvents: (ctx, { path, query, type }) =>
    type === 'text/event-stream'
      ? new Followed((options) => openStream(ctx, path, query, options))
      : listEvents(ctx, { path, query }),
} satisfies Partial<Handlers>

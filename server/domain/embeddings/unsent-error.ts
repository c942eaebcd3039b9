/** Why nothing was sent to a model. */

import { EmbeddingError } from './model.ts'

/** A pause, the rate or the budget forbids requests. It says nothing new about the endpoint. */
export class UnsentError extends EmbeddingError {}

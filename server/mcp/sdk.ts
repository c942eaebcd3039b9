/** The library of the Model Context Protocol. The build makes one file of it, which the first message loads. */

export {
  createMcpHandler,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type RequestId,
  ResourceNotFoundError,
  ResourceTemplate,
  type ToolAnnotations,
  type Transport,
} from '@modelcontextprotocol/server'
export { serveStdio } from '@modelcontextprotocol/server/stdio'

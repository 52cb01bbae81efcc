import { WebSocketTransport } from '@askback/client'
import { mount } from './mount.js'

mount(new WebSocketTransport({ baseUrl: location.origin }))

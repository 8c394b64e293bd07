package flightcache.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import flightcache.spark.vectors.LaterLayouts;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Geometry and geography of Spark as other programs know them too: WKB, with the reference system in the field's metadata by the
 * convention of GeoArrow. That has one system for a field; where Spark has one for each value, its number is beside the WKB.
 */
final class GeoArrow {
  /** The name of GeoArrow's type for WKB. */
  static final String WKB = "geoarrow.wkb";

  private static final String NAME = ArrowType.ExtensionType.EXTENSION_METADATA_KEY_NAME;
  private static final String METADATA = ArrowType.ExtensionType.EXTENSION_METADATA_KEY_METADATA;
  private static final String UNKNOWN = "SRID:0"; // Spark's name for no reference system
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private GeoArrow() {}

  /** The metadata of a field of WKB for a type with one reference system. */
  static Map<String, String> metadata(DataType type) {
    String[] parts = parameters(type); // the name of the system, and of a geography how its edges run
    ObjectNode about = MAPPER.createObjectNode();
    if (parts[0].startsWith("SRID:")) {
      if (!parts[0].equals(UNKNOWN)) {
        about.put("crs", parts[0].substring("SRID:".length())).put("crs_type", "srid");
      }
    } else {
      about.put("crs", parts[0]).put("crs_type", "authority_code");
    }
    return noted(about, parts);
  }

  private static Map<String, String> noted(ObjectNode about, String[] parts) {
    if (parts.length > 1) {
      about.put("edges", parts[1].toLowerCase(Locale.ROOT));
    }
    return Map.of(NAME, WKB, METADATA, about.toString());
  }

  /** What is between the parentheses of the type's own form in JSON. */
  private static String[] parameters(DataType type) {
    String json = type.json();
    return json.substring(json.indexOf('(') + 1, json.indexOf(')')).split(",\\s*");
  }

  /** The children of the struct for a type of which each value has its own reference system. */
  static List<Field> mixed(DataType type) {
    Map<String, String> notes = new HashMap<>(noted(MAPPER.createObjectNode(), parameters(type)));
    return List.of(
        new Field("srid", FieldType.notNullable(new ArrowType.Int(32, true)), null),
        new Field("wkb", new FieldType(false, ArrowType.Binary.INSTANCE, null, notes), null));
  }

  /**
   * The type of a field of WKB, or null: if the field does not say that it is that, or in a reference system that is not among
   * Spark's, or if this Spark has no such types. It is binary then.
   */
  static DataType type(Field f) {
    if (!WKB.equals(f.getMetadata().get(NAME)) || !LaterTypes.hasSpatial()) {
      return null;
    }
    String text = f.getMetadata().getOrDefault(METADATA, "");
    JsonNode about;
    try {
      about = MAPPER.readTree(text.isEmpty() ? "{}" : text);
    } catch (JsonProcessingException e) {
      return null;
    }
    String crs = crs(about.path("crs"));
    String edges = about.path("edges").asText("planar");
    if (crs == null) {
      return null;
    }
    boolean planar = edges.equals("planar");
    DataType named = DataTypes.NullType;
    if (planar || edges.equals("spherical")) {
      // By its number a system has Spark's own name, which is the only one of it that Spark's Python knows.
      named = LaterTypes.declared((planar ? "GEOMETRY(" : "GEOGRAPHY(") + number(crs) + ")");
    }
    if (!LaterLayouts.isSpatial(named)) {
      named =
          LaterTypes.named(
              planar ? "geometry(" + crs + ")" : "geography(" + crs + ", " + edges.toUpperCase(Locale.ROOT) + ")");
    }
    return LaterLayouts.isSpatial(named) && !LaterLayouts.isMixed(named) ? named : null;
  }

  /** The reference system as AUTHORITY:CODE, or null if it is told in another way. */
  private static String crs(JsonNode crs) {
    if (crs.isMissingNode() || crs.isNull()) {
      return UNKNOWN;
    }
    if (crs.isObject()) { // PROJJSON
      JsonNode id = crs.path("id");
      return id.has("authority") && id.has("code") ? id.get("authority").asText() + ":" + id.get("code").asText() : null;
    }
    String text = crs.asText();
    if (text.matches("[0-9]+")) {
      return "SRID:" + text;
    }
    return text.matches("\\w+:\\w+") ? text : null;
  }

  /** The number of a system that is named by it. */
  private static String number(String crs) {
    return crs.matches("(EPSG|SRID):[0-9]+") ? crs.substring(5) : "";
  }
}
